// An application of Express whose users log in with an OpenID provider, for tests.
//
//     node oidc_express.mjs FOLDER_OF_MODULES LIBRARY PORT ISSUER CLIENT_ID CLIENT_SECRET FOLDER
//
// The library is express-openid-connect, passport-openidconnect or @auth/express. `/begin` begins a
// login, and `/me` says who the user is.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , modules, library, port, issuer, clientId, clientSecret] = process.argv;
const { resolve } = createRequire(`${modules}/`);
const load = (name) => import(pathToFileURL(resolve(name)));

const { default: express } = await load('express');
const address = `http://127.0.0.1:${port}`;
const secret = 'of a test, and as long as it has to be';
const app = express();

if (library === 'express-openid-connect') {
  const { auth } = (await load(library)).default;
  app.use(
    auth({
      issuerBaseURL: issuer,
      baseURL: address,
      clientID: clientId,
      clientSecret,
      secret,
      authRequired: false,
      authorizationParams: { response_type: 'code', scope: 'openid profile email' },
    }),
  );
  app.get('/begin', (request, response) => response.oidc.login({ returnTo: '/me' }));
  app.get('/me', (request, response) => {
    const { sub, preferred_username } = request.oidc.user ?? {};
    response.json({ id: sub ?? null, username: preferred_username ?? null });
  });
} else if (library === 'passport-openidconnect') {
  const { default: session } = await load('express-session');
  const { default: passport } = await load('passport');
  const { Strategy } = (await load(library)).default;
  const options = {
    issuer,
    authorizationURL: `${issuer}/auth/authorize`,
    tokenURL: `${issuer}/auth/oauth/token`,
    userInfoURL: `${issuer}/auth/userinfo`,
    clientID: clientId,
    clientSecret,
    callbackURL: `${address}/callback`,
    scope: ['profile', 'email'],
    nonce: true,
  };
  passport.use(
    new Strategy(options, (issuer, { id, username }, done) => done(null, { id, username })),
  );
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user, done) => done(null, user));
  app.use(session({ secret, resave: false, saveUninitialized: false }), passport.session());
  app.get('/begin', passport.authenticate('openidconnect'));
  app.get('/callback', passport.authenticate('openidconnect', { successRedirect: '/me' }));
  app.get('/me', (request, response) => {
    const { id, username } = request.user ?? {};
    response.json({ id: id ?? null, username: username ?? null });
  });
} else {
  const { ExpressAuth, getSession } = await load(library);
  const config = {
    providers: [{ id: 'example', name: 'Example', type: 'oidc', issuer, clientId, clientSecret }],
    secret,
    trustHost: true,
    basePath: '/auth',
    callbacks: {
      jwt: ({ token, account }) => ({ ...token, id: account?.providerAccountId ?? token.id }),
      session: ({ session, token }) => ({ ...session, id: token.id }),
    },
  };
  app.use('/auth', ExpressAuth(config));
  app.get('/begin', async (request, response) => {
    const asked = await fetch(`${address}/auth/csrf`);
    const { csrfToken } = await asked.json();
    const cookies = asked.headers.getSetCookie();
    const cookie = cookies.map((each) => each.split(';')[0]).join('; ');
    const headers = { cookie, 'x-auth-return-redirect': '1' };
    const body = new URLSearchParams({ csrfToken, callbackUrl: `${address}/me` });
    const begun = await fetch(`${address}/auth/signin/example`, { method: 'POST', headers, body });
    response.setHeader('Set-Cookie', [...cookies, ...begun.headers.getSetCookie()]);
    response.redirect((await begun.json()).url);
  });
  app.get('/me', async (request, response) => {
    const session = await getSession(request, config);
    response.json({ id: session?.id ?? null, username: session?.user?.name ?? null });
  });
}

app.listen(Number(port), '127.0.0.1');
