// A program of Node that uses an MCP server in the name of a person, as `mcp_client.py` is one of
// Python.
//
//     node mcp_client.mjs FOLDER_OF_MODULES PACKAGE ADDRESS PORT
//
// The package is @modelcontextprotocol/sdk or @modelcontextprotocol/client, its second generation.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , modules, library, address, port] = process.argv;
const { resolve } = createRequire(`${modules}/`);
const load = (name) => import(pathToFileURL(resolve(name)));
const isFirst = library === '@modelcontextprotocol/sdk';
const files = isFirst ? ['/client/index.js', '/client/streamableHttp.js', '/client/auth.js'] : [''];
const parts = await Promise.all(files.map((each) => load(`${library}${each}`)));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = Object.assign({}, ...parts);

const callback = `http://127.0.0.1:${port}/callback`;
let client, tokens, verifier, arrive;
const arrival = new Promise((resolve) => (arrive = resolve));
const server = createServer((request, response) => {
  response.end();
  arrive(new URL(request.url, callback).searchParams);
}).listen(Number(port), '127.0.0.1');

const authProvider = {
  redirectUrl: callback,
  clientMetadataUrl: process.env.DOCUMENT,
  clientMetadata: {
    client_name: 'Editor',
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_post',
  },
  clientInformation: () => client,
  saveClientInformation: (value) => (client = value),
  tokens: () => tokens,
  saveTokens: (value) => (tokens = value),
  codeVerifier: () => verifier,
  saveCodeVerifier: (value) => (verifier = value),
  redirectToAuthorization: (url) => spawn(process.env.BROWSER, [url.href], { stdio: 'inherit' }),
};

async function ask() {
  const transport = new StreamableHTTPClientTransport(new URL(address), { authProvider });
  const asking = new Client({ name: 'Editor', version: '1.0.0' });
  try {
    await asking.connect(transport);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const answer = await arrival;
    await transport.finishAuth(isFirst ? answer.get('code') : answer);
    return ask();
  }
  const { content } = await asking.callTool({ name: 'who', arguments: {} });
  await asking.close();
  return content[0].text;
}

const got = { users: [], refresh_tokens: [] };
for (let round = 0; round < 2; round++) {
  got.users.push(await ask());
  got.refresh_tokens.push(tokens.refresh_token);
  tokens = { ...tokens, access_token: `${tokens.access_token}x` };
}
server.close();
console.log(JSON.stringify({ ...got, client: client.client_id, scope: tokens.scope }));
process.exit();
