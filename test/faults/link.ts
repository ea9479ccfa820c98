import { connect, createServer, type Server, type Socket } from "node:net";
import { Transform } from "node:stream";

/**
 * A stretch of network between two programs: a TCP proxy on this machine that can
 * be disturbed. `drop`: what is open breaks, new connections pass. `cut`: what is
 * open breaks, and new connections break at once, until `heal`. `stall`: nothing
 * passes in either direction and neither side is notified, until `heal`; `mute` is the
 * same for the answers alone. `lose`: nothing ever passes again on what is open, and
 * neither side is notified; new connections pass. `delay`: each answer comes so many
 * milliseconds later than it would, on what is opened from then on.
 */
export interface Link extends AsyncDisposable {
  /** Where it is reached, on 127.0.0.1 or the address that it was given. */
  readonly port: number;
  /** Connections that are open now. */
  readonly open: number;
  drop(): void;
  cut(): void;
  stall(): void;
  mute(): void;
  lose(): void;
  delay(ms: number): void;
  heal(): void;
}

export type Disturbance = "drop" | "cut" | "stall";
export const disturbances: readonly Disturbance[] = ["drop", "cut", "stall"];

/** Opens a link to a port of this machine, at an address of it. */
export async function openLink(targetPort: number, address = "127.0.0.1"): Promise<Link> {
  const pairs = new Set<Pair>();
  let state: "whole" | "cut" | "stalled" | "muted" = "whole";
  let delayMs = 0;
  const server = createServer({ allowHalfOpen: true }, (near) => {
    near.on("error", () => {});
    if (state === "cut") {
      near.resetAndDestroy();
      return;
    }
    const pair = new Pair(near, { targetPort, delayMs }, () => pairs.delete(pair));
    pairs.add(pair);
    if (state !== "stalled") pair.flow();
    if (state === "muted") pair.mute();
  });
  await listen(server, address);
  const breakAll = () => {
    for (const pair of [...pairs]) pair.break();
  };
  return {
    port: (server.address() as { port: number }).port,
    get open() {
      return pairs.size;
    },
    drop: breakAll,
    cut: () => {
      state = "cut";
      breakAll();
    },
    stall: () => {
      state = "stalled";
      for (const pair of pairs) pair.hold();
    },
    mute: () => {
      state = "muted";
      for (const pair of pairs) pair.mute();
    },
    delay: (ms) => {
      delayMs = ms;
    },
    lose: () => {
      for (const pair of pairs) pair.lose();
    },
    heal: () => {
      state = "whole";
      for (const pair of pairs) pair.flow();
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      breakAll();
      await closed;
    },
  };
}

function listen(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, address, resolve);
  });
}

/** One connection through a link. */
class Pair {
  readonly #near: Socket;
  readonly #targetPort: number;
  readonly #later: Later | null;
  readonly #forget: () => void;
  #far: Socket | null = null;
  #held = true;
  #lost = false;
  /** An end that was seen while nothing passed; it is passed on later. */
  #brokenMeanwhile = false;

  constructor(near: Socket, { targetPort, delayMs }: { targetPort: number; delayMs: number }, forget: () => void) {
    this.#near = near;
    this.#targetPort = targetPort;
    this.#later = delayMs === 0 ? null : new Later(delayMs);
    this.#forget = forget;
    near.pause();
    this.#watch(near);
  }

  /** Lets everything pass from now on, what was held back first. */
  flow(): void {
    if (!this.#held || this.#lost) return;
    this.#held = false;
    if (this.#brokenMeanwhile) {
      this.break();
      return;
    }
    if (this.#far === null) {
      this.#far = connect({ port: this.#targetPort, host: "127.0.0.1", allowHalfOpen: true });
      this.#watch(this.#far);
    }
    // What is only muted still flows one way.
    for (const stream of [this.#near, this.#far, this.#later]) stream?.unpipe();
    this.#near.pipe(this.#far);
    if (this.#later === null) this.#far.pipe(this.#near);
    else this.#far.pipe(this.#later).pipe(this.#near);
  }

  /** Holds back what the far end says. */
  mute(): void {
    this.#held = true;
    this.#far?.unpipe();
    this.#far?.pause();
  }

  /** Lets nothing pass, without closing either side. */
  hold(): void {
    this.#held = true;
    for (const socket of [this.#near, this.#far]) {
      socket?.unpipe();
      socket?.pause();
    }
  }

  /** Holds back for good, as when the host at the other end is gone. */
  lose(): void {
    this.hold();
    this.#lost = true;
  }

  break(): void {
    this.#forget();
    for (const socket of [this.#near, this.#far]) if (socket !== null && !socket.destroyed) socket.resetAndDestroy();
  }

  #watch(socket: Socket): void {
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => {
      if (this.#held) this.#brokenMeanwhile = true;
      else this.break();
    });
  }
}

/** Hands on what it gets so many milliseconds later, in its order. */
class Later extends Transform {
  readonly #delayMs: number;

  constructor(delayMs: number) {
    super();
    this.#delayMs = delayMs;
  }

  override _transform(data: Buffer, _encoding: BufferEncoding, done: () => void): void {
    setTimeout(() => this.push(data), this.#delayMs);
    done();
  }

  override _flush(done: () => void): void {
    setTimeout(done, this.#delayMs);
  }
}
