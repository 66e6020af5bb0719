// The certified provider https://github.com/panva/node-oidc-provider, for tests.
//
//     node oidc_provider.mjs FOLDER_OF_MODULES
//
// Each line of the standard input is a configuration, which replaces the last one; its answer is
// the issuer. Sessions at the provider are kept. It ends with the standard input.
//
//     {"clients": [client metadata], "people": {LOGIN: {claims, and "amr", "acr"}},
//      "keys": [names], "algorithm": "RS256", "conform": true}
//
// `keys` are published, and the first signs; a name stands for the same key of an algorithm each
// time. `conform` leaves all claims about people to userinfo. Anyone can log in with any password; the login is the
// subject, and its email address at example.org is verified unless `people` says otherwise.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

console.info = console.warn = () => {}; // reminders for production

const { resolve } = createRequire(`${process.argv[2]}/`);
const load = async (path) => (await import(pathToFileURL(resolve(path)))).default;
const Provider = await load('oidc-provider');
const MemoryAdapter = await load('oidc-provider/lib/adapters/memory_adapter.js');

const PARAMETERS = {
  RS256: ['rsa', { modulusLength: 2048 }],
  PS256: ['rsa', { modulusLength: 2048 }],
  ES256: ['ec', { namedCurve: 'P-256' }],
  EdDSA: ['ed25519'],
  Ed25519: ['ed25519'],
};

const keys = new Map();
const keyNamed = (kid, alg) => {
  const name = `${alg} ${kid}`;
  if (!keys.has(name)) {
    const { privateKey } = generateKeyPairSync(...PARAMETERS[alg]);
    keys.set(name, { ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' });
  }
  return keys.get(name);
};

const makeProvider = (issuer, { clients, people, keys: names, algorithm, conform }) => {
  const claimsOf = (login) => ({
    email: `${login}@example.org`,
    email_verified: true,
    name: login,
    preferred_username: login,
    ...people[login],
    sub: login,
  });
  const provider = new Provider(issuer, {
    clients,
    jwks: { keys: names.map((name) => keyNamed(name, algorithm)) },
    adapter: (model) => new MemoryAdapter(model), // of all configurations
    acrValues: ['urn:example:two-factors'],
    claims: {
      openid: ['sub', 'acr', 'amr'],
      email: ['email', 'email_verified'],
      profile: ['name', 'preferred_username'],
      groups: ['groups'],
    },
    conformIdTokenClaims: conform,
    cookies: { keys: ['signs cookies'] },
    features: { backchannelLogout: { enabled: true } },
    // By default, no request is sent to this machine.
    fetch: (url, { dispatcher, ...options }) => fetch(url, options),
    findAccount: (_, login) => ({ accountId: login, claims: () => claimsOf(login) }),
    pkce: { required: () => true },
  });
  const finish = provider.interactionFinished.bind(provider);
  provider.interactionFinished = (request, response, result, options) => {
    const { amr, acr } = people[result.login?.accountId] ?? {};
    const login = result.login && { ...result.login, amr, acr };
    return finish(request, response, { ...result, ...(login && { login }) }, options);
  };
  for (const event of ['server_error', 'backchannel.error']) {
    provider.on(event, (_, error) => console.error(event, error));
  }
  return provider;
};

let handle;
const server = createServer((request, response) => handle(request, response));
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://localhost:${server.address().port}`;
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      handle = makeProvider(issuer, JSON.parse(line)).callback();
      console.log(issuer);
    })
    .on('close', () => process.exit());
});
