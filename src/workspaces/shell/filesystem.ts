import type { CpOptions, FileContent, FsStat, IFileSystem, MkdirOptions, RmOptions } from "just-bash";
import { type FileNode, type FolderNode, fsError, type Node, segmentsOf, type Tree } from "./tree.ts";

type Encoding = BufferEncoding | "utf-8" | null | undefined;
type EncodingOption = { encoding?: Encoding } | Encoding;

/** The names under `/dev` that are not files of the workspace. */
const deviceNames = ["null", "zero", "stdin", "stdout", "stderr"];

/** Gives a tree its devices, where the workspace has no files of these names. */
export function addDevices(tree: Tree): void {
  const known = tree.root.children.get("dev");
  if (known !== undefined && known.kind !== "folder") return;
  const folder = known ?? tree.makeFolder(tree.root, "dev");
  for (const name of deviceNames) {
    if (folder.children.has(name)) continue;
    tree.attach(folder, name, { kind: "device", id: tree.nextId(), mode: 0o666, mtime: new Date(0) });
  }
}

/** The tree as the shell's file system. `load` fetches the content of a file that the workspace holds. */
export class TreeFs implements IFileSystem {
  readonly #tree: Tree;
  readonly #load: (node: FileNode) => Promise<Uint8Array>;

  constructor(tree: Tree, load: (node: FileNode) => Promise<Uint8Array>) {
    this.#tree = tree;
    this.#load = load;
  }

  async readFile(path: string, options?: EncodingOption): Promise<string> {
    return asBuffer(await this.readFileBuffer(path)).toString(encodingOf(options));
  }

  async readFileBuffer(path: string): Promise<Uint8Array> {
    const node = this.#tree.need(path, "open");
    if (node.kind === "file") return node.content ?? (await this.#load(node));
    if (node.kind === "device") return new Uint8Array();
    throw fsError("EISDIR", "illegal operation on a directory", "read", path);
  }

  async writeFile(path: string, content: FileContent, options?: EncodingOption): Promise<void> {
    this.#put(path, bytesOf(content, options));
  }

  async appendFile(path: string, content: FileContent, options?: EncodingOption): Promise<void> {
    const added = bytesOf(content, options);
    const before = (await this.exists(path)) ? await this.readFileBuffer(path) : new Uint8Array();
    this.#put(path, Buffer.concat([before, added]));
  }

  /** Writes a file, with the folders above it. */
  #put(path: string, content: Uint8Array): void {
    const segments = segmentsOf(path);
    if (segments.length > 1) this.#makeFolders(segments.slice(0, -1), "open");
    const place = this.#tree.find(path, "open");
    if (place === null || place.node?.kind === "folder")
      throw fsError("EISDIR", "illegal operation on a directory", "open", path);
    const { folder, name, node } = place;
    if (node?.kind === "device") return;
    if (node?.kind === "file") this.#tree.write(node, content, name);
    else this.#tree.attach(folder, name, newFile(this.#tree, content));
  }

  #makeFolders(segments: readonly string[], call: string): void {
    for (const [index] of segments.entries()) {
      const path = `/${segments.slice(0, index + 1).join("/")}`;
      const place = this.#tree.find(path, call);
      if (place !== null && place.node === undefined) this.#tree.makeFolder(place.folder, place.name);
      else if (place?.node !== undefined && place.node.kind !== "folder")
        throw fsError("ENOTDIR", "not a directory", call, path);
    }
  }

  async exists(path: string): Promise<boolean> {
    try {
      const place = this.#tree.find(path, "access");
      return place === null || place.node !== undefined;
    } catch {
      return false;
    }
  }

  async stat(path: string): Promise<FsStat> {
    return statOf(this.#tree.need(path, "stat"));
  }

  async lstat(path: string): Promise<FsStat> {
    return statOf(this.#tree.need(path, "lstat", false));
  }

  async mkdir(path: string, options?: MkdirOptions): Promise<void> {
    if (options?.recursive === true) return this.#makeFolders(segmentsOf(path), "mkdir");
    const place = this.#tree.find(path, "mkdir", false);
    if (place === null || place.node !== undefined) throw fsError("EEXIST", "file already exists", "mkdir", path);
    this.#tree.makeFolder(place.folder, place.name);
  }

  async readdir(path: string): Promise<string[]> {
    return (await this.readdirWithFileTypes(path)).map(({ name }) => name);
  }

  async readdirWithFileTypes(path: string) {
    const entries = [...this.#folder(path).children].filter(([, node]) => !isOnlyDevices(node));
    return entries
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, node]) => ({
        name,
        isFile: node.kind === "file" || node.kind === "device",
        isDirectory: node.kind === "folder",
        isSymbolicLink: node.kind === "link",
      }));
  }

  #folder(path: string): FolderNode {
    const node = this.#tree.need(path, "scandir");
    if (node.kind !== "folder") throw fsError("ENOTDIR", "not a directory", "scandir", path);
    return node;
  }

  async rm(path: string, options?: RmOptions): Promise<void> {
    const place = this.#tree.find(path, "rm", false);
    if (place === null) throw fsError("EBUSY", "the root stays", "rm", path);
    const { folder, name, node } = place;
    if (node === undefined) {
      if (options?.force === true) return;
      throw fsError("ENOENT", "no such file or directory", "rm", path);
    }
    if (holdsDevice(node)) throw fsError("EBUSY", "resource busy", "rm", path);
    if (node.kind === "folder" && node.children.size > 0 && options?.recursive !== true)
      throw fsError("ENOTEMPTY", "directory not empty", "rm", path);
    this.#tree.detach(folder, name);
  }

  async cp(src: string, dest: string, options?: CpOptions): Promise<void> {
    const node = this.#tree.need(src, "cp", false);
    if (node.kind === "folder") {
      if (options?.recursive !== true) throw fsError("EISDIR", "is a directory", "cp", src);
      refuseInto(src, dest, "copy");
      this.#makeFolders(segmentsOf(dest), "cp");
      for (const name of [...node.children.keys()]) await this.cp(`${src}/${name}`, `${dest}/${name}`, options);
    } else if (node.kind === "link") {
      await this.symlink(node.target, dest);
    } else {
      this.#put(dest, Uint8Array.from(await this.readFileBuffer(src)));
      const copied = this.#tree.need(dest, "cp");
      if (copied.kind === "file") copied.mode = node.mode;
    }
  }

  async mv(src: string, dest: string): Promise<void> {
    const from = this.#tree.find(src, "mv", false);
    const to = this.#tree.find(dest, "mv", false);
    if (from === null || to === null) throw fsError("EBUSY", "the root stays", "mv", src);
    if (from.node === undefined) throw fsError("ENOENT", "no such file or directory", "mv", src);
    if (from.path === to.path) return;
    if (holdsDevice(from.node) || (to.node !== undefined && holdsDevice(to.node)))
      throw fsError("EBUSY", "resource busy", "mv", src);
    if (from.node.kind === "folder") refuseInto(from.path, to.path, "move");
    const moved = from.node;
    if (to.node?.kind === "folder" && (moved.kind !== "folder" || to.node.children.size > 0))
      throw fsError("ENOTEMPTY", "directory not empty", "mv", dest);
    from.folder.children.delete(from.name);
    this.#tree.detach(to.folder, to.name);
    to.folder.children.set(to.name, moved);
  }

  resolvePath(base: string, path: string): string {
    return `/${segmentsOf(path.startsWith("/") ? path : `${base}/${path}`).join("/")}`;
  }

  getAllPaths(): string[] {
    const paths: string[] = [];
    walk(this.#tree.root, "", (path) => paths.push(`/${path}`));
    return paths;
  }

  async chmod(path: string, mode: number): Promise<void> {
    this.#tree.need(path, "chmod").mode = mode;
  }

  async symlink(target: string, linkPath: string): Promise<void> {
    const { folder, name } = this.#free(linkPath, "symlink");
    this.#tree.attach(folder, name, { kind: "link", id: this.#tree.nextId(), target, mode: 0o777, mtime: new Date() });
  }

  async link(existingPath: string, newPath: string): Promise<void> {
    const node = this.#tree.need(existingPath, "link");
    if (node.kind !== "file") throw fsError("EPERM", "operation not permitted", "link", existingPath);
    const { folder, name } = this.#free(newPath, "link");
    this.#tree.attach(folder, name, node);
  }

  /** Finds a place that has no node yet. Throws EEXIST. */
  #free(path: string, call: string) {
    const place = this.#tree.find(path, call, false);
    if (place === null || place.node !== undefined) throw fsError("EEXIST", "file already exists", call, path);
    return place;
  }

  async readlink(path: string): Promise<string> {
    const node = this.#tree.need(path, "readlink", false);
    if (node.kind !== "link") throw fsError("EINVAL", "invalid argument", "readlink", path);
    return node.target;
  }

  async realpath(path: string): Promise<string> {
    this.#tree.need(path, "realpath");
    return this.#tree.find(path, "realpath")?.path ?? "/";
  }

  async utimes(path: string, _atime: Date, mtime: Date): Promise<void> {
    this.#tree.need(path, "utimes").mtime = mtime;
  }
}

/** Calls `visit` with every node below a folder, outer ones first; paths have no leading slash. */
export function walk(folder: FolderNode, path: string, visit: (path: string, node: Node) => void): void {
  for (const [name, node] of folder.children) {
    const at = path === "" ? name : `${path}/${name}`;
    visit(at, node);
    if (node.kind === "folder") walk(node, at, visit);
  }
}

/** A file that the workspace does not hold yet. */
function newFile(tree: Tree, content: Uint8Array): FileNode {
  const common = { kind: "file", id: tree.nextId(), storedAt: null, links: 0, written: true } as const;
  return { ...common, content, size: content.byteLength, mode: 0o644, mtime: new Date() };
}

function statOf(node: Node): FsStat {
  return {
    isFile: node.kind === "file" || node.kind === "device",
    isDirectory: node.kind === "folder",
    isSymbolicLink: node.kind === "link",
    mode: node.mode,
    size: node.kind === "file" ? node.size : node.kind === "link" ? node.target.length : 0,
    mtime: node.mtime,
    ino: node.id,
    identity: `node:${node.id}`,
  };
}

function holdsDevice(node: Node): boolean {
  return node.kind === "device" || (node.kind === "folder" && [...node.children.values()].some(holdsDevice));
}

/** Devices can be used but are not listed: `find` and `*` shall find only the workspace's files. */
function isOnlyDevices(node: Node): boolean {
  if (node.kind !== "folder") return node.kind === "device";
  return node.children.size > 0 && [...node.children.values()].every(isOnlyDevices);
}

function refuseInto(src: string, dest: string, verb: string): void {
  const [from, to] = [segmentsOf(src), segmentsOf(dest)];
  if (from.length <= to.length && from.every((segment, index) => segment === to[index]))
    throw new Error(`EINVAL: cannot ${verb} '${src}' into itself, '${dest}'`);
}

function encodingOf(options: EncodingOption): BufferEncoding {
  return (typeof options === "string" ? options : options?.encoding) ?? "utf8";
}

function bytesOf(content: FileContent, options: EncodingOption): Uint8Array {
  return typeof content === "string" ? Buffer.from(content, encodingOf(options)) : Uint8Array.from(content);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
