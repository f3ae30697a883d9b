"""An MCP server with OAuth on loopback: the SDK's own authorization server, with tokens in memory.

Started with the seconds that an access token is valid; prints its URL. Refresh tokens are used once: a second use of one voids the
whole login, as servers do that rotate them. POST /revoke-all voids every token, GET /counts says how often tokens were refreshed.
"""

import secrets
import socket
import sys
import time

import uvicorn
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken
from starlette.responses import JSONResponse

LIFETIME = int(sys.argv[1])


class Provider:
    def __init__(self):
        self.clients, self.codes, self.access, self.refresh, self.used = {}, {}, {}, {}, set()
        self.refreshed = self.reused = 0

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = secrets.token_urlsafe(16)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.issue(client, authorization_code.scopes, authorization_code.resource)

    def issue(self, client, scopes, resource):
        token, refresh = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
        until = int(time.time()) + LIFETIME
        self.access[token] = AccessToken(
            token=token, client_id=client.client_id, scopes=scopes, expires_at=until, resource=resource
        )
        self.refresh[refresh] = RefreshToken(
            token=refresh, client_id=client.client_id, scopes=scopes, resource=resource
        )
        return OAuthToken(access_token=token, refresh_token=refresh, expires_in=LIFETIME, scope=" ".join(scopes))

    async def load_refresh_token(self, client, refresh_token):
        if refresh_token in self.used:
            # a token that was used twice was stolen, as far as a server can tell
            self.reused += 1
            self.access.clear()
            self.refresh.clear()
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        self.refreshed += 1
        self.used.add(refresh_token.token)
        del self.refresh[refresh_token.token]
        return self.issue(client, scopes, refresh_token.resource)

    async def load_access_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)


listening = socket.create_server(("127.0.0.1", 0))
base = f"http://127.0.0.1:{listening.getsockname()[1]}"
provider = Provider()
server = MCPServer(
    "guarded",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=base,
        resource_server_url=f"{base}/mcp",
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(enabled=True),
        revocation_options=RevocationOptions(enabled=True),
    ),
)


@server.tool()
def scan(command: str) -> dict:
    return {"decision": "deny", "reason": f"{command} is not for agents"} if "prod" in command else {}


@server.custom_route("/revoke-all", methods=["POST"])
async def revoke_all(request):
    provider.access.clear()
    provider.refresh.clear()
    return JSONResponse({})


@server.custom_route("/expire", methods=["POST"])
async def expire(request):
    provider.access.clear()
    return JSONResponse({})


@server.custom_route("/counts", methods=["GET"])
async def counts(request):
    return JSONResponse({"refreshed": provider.refreshed, "reused": provider.reused, "valid": len(provider.refresh)})


print(f"{base}/mcp", flush=True)
uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="critical")).run(sockets=[listening])
