import { extname } from "node:path";
import { ApiError } from "../kernel/errors.ts";
import { StaticFiles, unbuilt } from "../kernel/http/static-files.ts";
import { pageOfConsole } from "./folders.ts";

/** Serves the built files of the console. */
export class ConsolePages {
  readonly #files: StaticFiles;

  /** Serves the first of these folders that holds the pages. */
  constructor(folders: readonly string[]) {
    this.#files = new StaticFiles(folders, pageOfConsole);
  }

  /** Responds to a request below `/console/`: a path with an extension is a file, every other one the page. Throws 404. */
  async respond(request: Request, path: string): Promise<Response> {
    if (path === "api") throw new ApiError("not_found");
    const isFile = extname(path) !== "";
    const response = await this.#files.respond(request, isFile ? path : pageOfConsole);
    if (response !== null) return response;
    if (isFile) throw new ApiError("not_found");
    return unbuilt("The console's pages", "npm run build:console");
  }
}
