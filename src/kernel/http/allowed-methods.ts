interface Route {
  readonly method: string;
  readonly path: string;
}

/**
 * Returns a function from a path to the methods it takes, for 405 responses; none for a path that no route has.
 * Where one route has a word and another an id at the same place, a path with the word belongs to the first.
 */
export function allowedMethods(routes: readonly Route[]): (pathname: string) => string[] {
  const patterns = routes.map(({ method, path }) => ({
    method,
    ids: path.split(":").length,
    pattern: new RegExp(`^${path.replace(/:[^/]+/g, "[^/]+").replace(/\*/g, ".*")}/?$`),
  }));
  return (pathname) => {
    const matching = patterns.filter(({ pattern }) => pattern.test(pathname));
    const ids = Math.min(...matching.map((route) => route.ids));
    const methods = new Set(matching.filter((route) => route.ids === ids).map(({ method }) => method));
    return [...methods].sort();
  };
}

/** The words that other routes have where a route ends in an id: there they are paths, not ids. */
export function literalsBeside(routes: readonly Route[]): ReadonlyMap<string, ReadonlySet<string>> {
  const split = (path: string) =>
    [path.slice(0, path.lastIndexOf("/")), path.slice(path.lastIndexOf("/") + 1)] as const;
  const beside = (path: string) => {
    const words = routes
      .map((route) => split(route.path))
      .filter(([parent, word]) => parent === split(path)[0] && word !== "");
    return new Set(words.map(([, word]) => word).filter((word) => !word.startsWith(":")));
  };
  const endsInId = routes.map(({ path }) => path).filter((path) => split(path)[1].startsWith(":"));
  return new Map(endsInId.map((path) => [path, beside(path)] as const).filter(([, words]) => words.size > 0));
}
