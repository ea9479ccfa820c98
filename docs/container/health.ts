/**
 * The image's health check: whether the process of this container can serve. `start`, `serve` and `sandbox` say so
 * at PORT, a worker at METRICS_PORT.
 */
const { PORT = "8080", METRICS_PORT } = process.env;
const ports = [PORT, METRICS_PORT].filter((port) => port !== undefined);
const asked = ports.map(async (port) => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
const said = await Promise.all(asked.map((ready) => ready.catch(() => false)));
process.exit(said.includes(true) ? 0 : 1);

export {};
