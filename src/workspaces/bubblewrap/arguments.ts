import { existsSync, realpathSync } from "node:fs";
import { firstProgram, scene } from "./scripts.ts";

/** What of `/etc` programs need to be found and to run; nothing of it is secret. */
const etc = [
  "alternatives",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "timezone",
  "mime.types",
  "services",
  "protocols",
  "ssl/certs",
];
/** Folders of the root that are links into `/usr`, or folders, as the host has them. */
const systemFolders = ["bin", "sbin", "lib", "lib64", "lib32", "libx32"];

const environment = {
  HOME: "/workspace",
  USER: "agent",
  LOGNAME: "agent",
  SHELL: "/bin/bash",
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
  TERM: "dumb",
};

/**
 * Returns bubblewrap's arguments, up to the program: own users, processes, mounts, network, host name and shared
 * memory; `/usr` to read, the workspace to write, and nothing else of the host. `hidden` are folders below `/usr` that
 * hold what is the service's.
 */
export function bubblewrapArguments(hidden: readonly string[]): string[] {
  const folders = systemFolders.flatMap((name) => {
    if (!existsSync(`/${name}`)) return [];
    const real = realpathSync(`/${name}`);
    return real === `/${name}` ? ["--ro-bind", real, real] : ["--symlink", real.slice(1), `/${name}`];
  });
  const masks = hidden
    .filter((path) => path.startsWith("/usr/"))
    .flatMap((path) => ["--tmpfs", path, "--remount-ro", path]);
  return [
    ...[
      "--unshare-all",
      "--unshare-user",
      "--disable-userns",
      "--uid",
      "1000",
      "--gid",
      "1000",
      "--hostname",
      "sandbox",
    ],
    ...["--cap-drop", "ALL", "--die-with-parent", "--new-session", "--as-pid-1", "--seccomp", "5"],
    ...["--ro-bind", "/usr", "/usr", ...masks, ...folders],
    ...etc.flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`]),
    ...["passwd", "group", "hosts", "nsswitch.conf"].flatMap((name) => [
      "--ro-bind",
      `${scene}/etc/${name}`,
      `/etc/${name}`,
    ]),
    ...["--proc", "/proc", "--dev", "/dev", "--bind", `${scene}/shm`, "/dev/shm", "--remount-ro", "/dev"],
    ...["--bind", `${scene}/tmp`, "/tmp", "--dir", "/var", "--symlink", "/tmp", "/var/tmp"],
    ...["--ro-bind", `${scene}/bash`, firstProgram],
    ...["--bind", `${scene}/workspace`, "/workspace", "--remount-ro", "/", "--chdir", "/workspace", "--clearenv"],
    ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value]),
  ];
}
