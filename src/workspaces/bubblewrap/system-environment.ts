/** Where programs of the system are; nothing else of this process's environment reaches a sandbox or what makes it. */
export const systemEnvironment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C.UTF-8" };
