// Apps that log in with an OpenID provider by the packages of npm, for tests.
//
//     node relying_party.mjs FOLDER_OF_MODULES openid-client|oauth4webapi
//
// Each line of the standard input is [METHOD, ARGUMENT]; its answer is {"result": …}, or {"error":
// …} with the error's code of the standard, or its message. It ends with the standard input.
//
//     ["find", {"issuer", "client_id", "client_secret", "redirect_uri", "auth", "algorithm"}]
//     ["begin", {parameters of the authorization request}]     the URL for the browser
//     ["finish", "URL that the browser was sent to"]           {"claims", "tokens"}
//     ["refresh"]                                              {"claims", "tokens"}
//     ["userinfo"], ["revoke"]
//     ["leave", {parameters of the logout}]  the URL for the browser; of openid-client alone
//     ["verify", "AUDIENCE"]  the claims of the access token, as a service verifies it (RFC 9068)
//
// `auth` is the way in which the client authenticates: basic, post or none.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [, , modules, library] = process.argv;
const { resolve } = createRequire(`${modules}/`);
const load = (name) => import(pathToFileURL(resolve(name)));

const makers = {
  async 'openid-client'() {
    const oidc = await load('openid-client');
    const ways = { basic: oidc.ClientSecretBasic, post: oidc.ClientSecretPost, none: oidc.None };
    let config, redirect_uri, kept, tokens;
    return {
      async find({ issuer, client_id, client_secret, auth, algorithm, ...app }) {
        redirect_uri = app.redirect_uri;
        config = await oidc.discovery(
          new URL(issuer),
          client_id,
          { id_token_signed_response_alg: algorithm },
          ways[auth](client_secret),
          // The second one verifies signatures, which is optional after a request by TLS.
          { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] },
        );
        return config.serverMetadata().issuer;
      },
      async begin(parameters) {
        kept = {
          pkceCodeVerifier: oidc.randomPKCECodeVerifier(),
          expectedState: oidc.randomState(),
          expectedNonce: oidc.randomNonce(),
          maxAge: parameters.max_age && Number(parameters.max_age),
          idTokenExpected: true,
        };
        return oidc.buildAuthorizationUrl(config, {
          redirect_uri,
          code_challenge: await oidc.calculatePKCECodeChallenge(kept.pkceCodeVerifier),
          code_challenge_method: 'S256',
          state: kept.expectedState,
          nonce: kept.expectedNonce,
          ...parameters,
        });
      },
      async finish(url) {
        tokens = await oidc.authorizationCodeGrant(config, new URL(url), kept);
        return { claims: tokens.claims(), tokens };
      },
      async refresh() {
        tokens = await oidc.refreshTokenGrant(config, tokens.refresh_token);
        return { claims: tokens.claims(), tokens };
      },
      userinfo: () => oidc.fetchUserInfo(config, tokens.access_token, tokens.claims().sub),
      revoke: () => oidc.tokenRevocation(config, tokens.refresh_token),
      leave: (parameters) =>
        oidc.buildEndSessionUrl(config, { id_token_hint: tokens.id_token, ...parameters }),
    };
  },

  async oauth4webapi() {
    const oauth = await load('oauth4webapi');
    const ways = { basic: oauth.ClientSecretBasic, post: oauth.ClientSecretPost, none: oauth.None };
    const options = { [oauth.allowInsecureRequests]: true };
    let server, client, authentication, redirect_uri, kept, tokens;
    const claims = () => oauth.getValidatedIdTokenClaims(tokens);
    const take = async (response, process) => {
      tokens = await process(response);
      await oauth.validateApplicationLevelSignature(server, response, options);
      return { claims: claims(), tokens };
    };
    return {
      async find({ issuer, client_id, client_secret, auth, algorithm, ...app }) {
        redirect_uri = app.redirect_uri;
        const url = new URL(issuer);
        const response = await oauth.discoveryRequest(url, options);
        server = await oauth.processDiscoveryResponse(url, response);
        client = { client_id, id_token_signed_response_alg: algorithm };
        authentication = ways[auth](client_secret);
        return server.issuer;
      },
      async begin(parameters) {
        kept = {
          verifier: oauth.generateRandomCodeVerifier(),
          state: oauth.generateRandomState(),
          nonce: oauth.generateRandomNonce(),
          maxAge: parameters.max_age && Number(parameters.max_age),
        };
        const url = new URL(server.authorization_endpoint);
        url.search = new URLSearchParams({
          client_id: client.client_id,
          redirect_uri,
          response_type: 'code',
          code_challenge: await oauth.calculatePKCECodeChallenge(kept.verifier),
          code_challenge_method: 'S256',
          state: kept.state,
          nonce: kept.nonce,
          ...parameters,
        });
        return url;
      },
      async finish(url) {
        const answer = oauth.validateAuthResponse(server, client, new URL(url), kept.state);
        const response = await oauth.authorizationCodeGrantRequest(
          server,
          client,
          authentication,
          answer,
          redirect_uri,
          kept.verifier,
          options,
        );
        const expected = { expectedNonce: kept.nonce, maxAge: kept.maxAge, requireIdToken: true };
        return take(response, (each) =>
          oauth.processAuthorizationCodeResponse(server, client, each, expected),
        );
      },
      async refresh() {
        const response = await oauth.refreshTokenGrantRequest(
          server,
          client,
          authentication,
          tokens.refresh_token,
          options,
        );
        return take(response, (each) => oauth.processRefreshTokenResponse(server, client, each));
      },
      async userinfo() {
        const response = await oauth.userInfoRequest(server, client, tokens.access_token, options);
        return oauth.processUserInfoResponse(server, client, claims().sub, response);
      },
      async revoke() {
        const token = tokens.refresh_token;
        await oauth.processRevocationResponse(
          await oauth.revocationRequest(server, client, authentication, token, options),
        );
      },
      verify(audience) {
        const headers = { Authorization: `Bearer ${tokens.access_token}` };
        const request = new Request('http://localhost/', { headers });
        return oauth.validateJwtAccessToken(server, request, audience, options);
      },
    };
  },
};

const app = await makers[library]();
for await (const line of createInterface({ input: process.stdin })) {
  const [method, argument] = JSON.parse(line);
  let answer;
  try {
    answer = { result: (await app[method](argument)) ?? null };
  } catch (error) {
    const { cause } = error;
    const challenged = Array.isArray(cause) ? cause[0]?.parameters?.error : undefined;
    answer = { error: error.error ?? challenged ?? `${error.message} ${cause?.message ?? ''}` };
  }
  console.log(JSON.stringify(answer));
}
