/** A workspace as one command sees it: a tree of nodes with limits. */

/** A file of the tree. Hard links are one node under several names. */
export interface FileNode {
  readonly kind: "file";
  readonly id: number;
  /** Null until the file is first read: then it is fetched from the workspace. */
  content: Uint8Array | null;
  /** Where the workspace holds the content that has not been fetched. */
  readonly storedAt: string | null;
  size: number;
  mode: number;
  mtime: Date;
  /** Names this node has. */
  links: number;
  /** Whether the content was replaced. */
  written: boolean;
}

export interface FolderNode {
  readonly kind: "folder";
  readonly id: number;
  readonly children: Map<string, Node>;
  mode: number;
  mtime: Date;
}

/** A symbolic link; it lives as long as the command. */
export interface LinkNode {
  readonly kind: "link";
  readonly id: number;
  readonly target: string;
  mode: number;
  mtime: Date;
}

/** `/dev/null` and the like: reads as empty, and discards what is written. */
export interface DeviceNode {
  readonly kind: "device";
  readonly id: number;
  mode: number;
  mtime: Date;
}

export type Node = FileNode | FolderNode | LinkNode | DeviceNode;

/** What a tree may hold. */
export interface TreeLimits {
  readonly files: number;
  /** Nodes of all kinds. */
  readonly nodes: number;
  readonly bytesEach: number;
  readonly bytes: number;
}

/** A place in the tree: a folder, a name in it, and what has that name. */
export interface TreePlace {
  readonly folder: FolderNode;
  readonly name: string;
  readonly node: Node | undefined;
  /** The path with every symbolic link followed. */
  readonly path: string;
}

/** Symbolic links that one path may pass. */
const linksFollowedMax = 40;

/** Returns an error as the shell's commands expect it: the code, its meaning, the system call and the path. */
export function fsError(code: string, meaning: string, call: string, path: string): Error {
  return new Error(`${code}: ${meaning}, ${call} '${path}'`);
}

/** Returns a path's segments from the root, with `.` and `..` resolved by the text alone. */
export function segmentsOf(path: string): string[] {
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  return segments;
}

/** A tree and its totals. A change that would exceed a limit throws ENOSPC or EFBIG before anything is changed. */
export class Tree {
  readonly root: FolderNode;
  readonly limits: TreeLimits;
  #files = 0;
  #nodes = 0;
  #bytes = 0;
  #lastId = 0;

  constructor(limits: TreeLimits) {
    this.limits = limits;
    this.root = { kind: "folder", id: this.nextId(), children: new Map(), mode: 0o755, mtime: new Date() };
  }

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /**
   * Returns the place a path names. `followLast`: a symbolic link at its end is followed
   * too. Throws ENOENT for a missing folder on the way, ENOTDIR, ELOOP. Null for the
   * root, which has no place in a folder.
   */
  find(path: string, call: string, followLast = true): TreePlace | null {
    if (path.includes("\0")) throw fsError("EINVAL", "invalid path", call, path);
    let segments = segmentsOf(path);
    let followed = 0;
    for (;;) {
      if (segments.length === 0) return null;
      let folder = this.root;
      let redirected: string[] | null = null;
      for (const [index, name] of segments.entries()) {
        const node = folder.children.get(name);
        const last = index === segments.length - 1;
        if (node?.kind === "link" && (!last || followLast)) {
          followed += 1;
          if (followed > linksFollowedMax) throw fsError("ELOOP", "too many levels of symbolic links", call, path);
          const base = node.target.startsWith("/") ? "" : segments.slice(0, index).join("/");
          redirected = segmentsOf(`${base}/${node.target}/${segments.slice(index + 1).join("/")}`);
          break;
        }
        if (last) return { folder, name, node, path: `/${segments.join("/")}` };
        if (node === undefined) throw fsError("ENOENT", "no such file or directory", call, path);
        if (node.kind !== "folder") throw fsError("ENOTDIR", "not a directory", call, path);
        folder = node;
      }
      segments = redirected ?? [];
    }
  }

  /** Returns the node a path names. Throws ENOENT when there is none. */
  need(path: string, call: string, followLast = true): Node {
    const place = this.find(path, call, followLast);
    if (place === null) return this.root;
    if (place.node === undefined) throw fsError("ENOENT", "no such file or directory", call, path);
    return place.node;
  }

  makeFolder(folder: FolderNode, name: string): FolderNode {
    const made: FolderNode = { kind: "folder", id: this.nextId(), children: new Map(), mode: 0o755, mtime: new Date() };
    this.attach(folder, name, made);
    return made;
  }

  /** Gives a node a name, and removes a node that had it. Throws ENOSPC, EFBIG. */
  attach(folder: FolderNode, name: string, node: Node): void {
    const isNewFile = node.kind === "file" && node.links === 0;
    if (this.#nodes + 1 > this.limits.nodes || (isNewFile && this.#files + 1 > this.limits.files)) {
      throw fsError("ENOSPC", "no space left: the workspace holds as many files as it may", "open", name);
    }
    if (isNewFile) this.#checkBytes(node.size, 0, name);
    this.detach(folder, name);
    folder.children.set(name, node);
    folder.mtime = new Date();
    this.#nodes += 1;
    if (node.kind !== "file") return;
    node.links += 1;
    if (!isNewFile) return;
    this.#files += 1;
    this.#bytes += node.size;
  }

  /** Removes a name with everything below it. */
  detach(folder: FolderNode, name: string): void {
    const node = folder.children.get(name);
    if (node === undefined) return;
    if (node.kind === "folder") for (const child of [...node.children.keys()]) this.detach(node, child);
    folder.children.delete(name);
    folder.mtime = new Date();
    this.#nodes -= 1;
    if (node.kind !== "file") return;
    node.links -= 1;
    if (node.links > 0) return;
    this.#files -= 1;
    this.#bytes -= node.size;
  }

  /** Replaces a file's content. Throws ENOSPC, EFBIG. */
  write(node: FileNode, content: Uint8Array, name: string): void {
    this.#checkBytes(content.byteLength, node.size, name);
    this.#bytes += content.byteLength - node.size;
    node.content = content;
    node.size = content.byteLength;
    node.written = true;
    node.mtime = new Date();
  }

  #checkBytes(size: number, before: number, name: string): void {
    if (size > this.limits.bytesEach) throw fsError("EFBIG", "file too large", "write", name);
    if (this.#bytes + size - before > this.limits.bytes)
      throw fsError("ENOSPC", "no space left: the workspace is full", "write", name);
  }
}
