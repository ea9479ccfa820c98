interface Route {
  readonly method: string;
  readonly path: string;
}

/** Makes a function that tells which methods a path takes, for 405 answers. Knows nothing of a path that no route has. */
export function allowedMethods(routes: readonly Route[]): (pathname: string) => string[] {
  const patterns = routes.map(({ method, path }) => ({
    method,
    pattern: new RegExp(`^${path.replace(/:[^/]+/g, "[^/]+").replace(/\*/g, ".*")}/?$`),
  }));
  return (pathname) => {
    const methods = new Set(patterns.filter(({ pattern }) => pattern.test(pathname)).map(({ method }) => method));
    return [...methods].sort();
  };
}
