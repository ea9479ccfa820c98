-- A sign-in to an MCP server is bound to the browser in which its button was pressed: without that, who sends a
-- person the authorization server's address gets a connection that acts as that person.

-- SHA-256 of the secret in the browser's cookie. Null for a link whose button nobody has pressed yet, and for a flow
-- that a process of an earlier version began: that one has to be begun again.
alter table mcp_sign_ins add column browser_digest bytea;
-- How often the button of a link was pressed.
alter table mcp_sign_ins add column presses integer not null default 0;
