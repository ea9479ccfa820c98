/** A response that is more than a value: another status, or headers. */
export class Reply {
  readonly value: unknown;
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(value: unknown, options: { status?: number; headers?: Readonly<Record<string, string>> } = {}) {
    this.value = value;
    this.status = options.status ?? null;
    this.headers = options.headers ?? {};
  }
}
