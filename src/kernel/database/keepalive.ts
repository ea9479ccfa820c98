/**
 * Settings of a worker's connections, as statements: Postgres closes one whose host has vanished (power, network)
 * after 6 s, and with it go its locks. By itself it would take two hours, and a worker that is gone would count as frozen. They
 * are statements because a pooler may refuse them as start-up parameters; behind a pooler, or on a socket file, they do nothing.
 */
export const vanishedHostSettings = [
  "set tcp_keepalives_idle = 3",
  "set tcp_keepalives_interval = 1",
  "set tcp_keepalives_count = 3",
  "set tcp_user_timeout = 5000",
].join("; ");
