/** What a browser saw at one address. */
export interface Seen {
  readonly status: number;
  readonly location: string | null;
  readonly text: string;
  readonly headers: Headers;
}

/** A person's browser in a sign-in to an MCP server: it keeps the cookies of this service, and asks everybody else over the network. */
export class SignInBrowser {
  readonly #app: (request: Request) => Promise<Response>;
  readonly #origin: string;
  readonly cookies = new Map<string, string>();

  constructor(app: (request: Request) => Promise<Response>, origin = "http://parley.test") {
    this.#app = app;
    this.#origin = origin;
  }

  /** One step: a redirect is not followed. */
  async visit(url: string, init: RequestInit = {}): Promise<Seen> {
    const isOurs = new URL(url).origin === this.#origin;
    const response = await (isOurs ? this.#ask(url, init) : fetch(url, { ...init, redirect: "manual" }));
    const location = response.headers.get("location");
    return { status: response.status, location, text: await response.text(), headers: response.headers };
  }

  /** Presses the button of the page at this address. */
  press(url: string, headers: Record<string, string> = { origin: this.#origin }): Promise<Seen> {
    return this.visit(url, { method: "POST", headers });
  }

  /** Opens a link, presses its button where the page has one, and follows redirects to the page at the end. */
  async follow(url: string): Promise<Seen & { readonly visited: readonly string[] }> {
    const visited = [url];
    let step = await this.visit(url);
    if (step.text.includes("<form")) step = await this.press(url);
    for (let hops = 0; step.location !== null && hops < 10; hops++) {
      visited.push(new URL(step.location, visited.at(-1)).href);
      step = await this.visit(visited.at(-1) as string);
    }
    return { ...step, visited };
  }

  async #ask(url: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    if (cookie !== "") headers.set("cookie", cookie);
    const response = await this.#app(new Request(url, { ...init, headers }));
    for (const set of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (set.split(";", 1)[0] ?? "").split("=");
      this.cookies.set(name, value);
    }
    return response;
  }
}
