/** Bytes of each output stream that leave a sandbox. */
export const outputBytesMax = 256 * 1024;
/** Names of a workspace's files, as one list of them. */
export const listBytesMax = 32 * 1024 * 1024;
/** The length limit of a command: a program gets it as one argument, of which Linux takes 128 KiB. */
export const commandBytesMax = 120_000;
/** From the start of a command's processes to its own start: its files are brought in that time. */
export const commandBeginMs = 60_000;
/** From a command's end to that of its processes: what it wrote is brought back in that time. */
export const commandEndMs = 60_000;
/** A holder has to be ready in this time. */
export const holderReadyMs = 30_000;
/** How often what programs use is looked at. */
export const usageCheckMs = 100;
/** Folders of workspaces that are kept for their next command, beside the limit of their bytes. */
export const foldersKeptMax = 64;
/** A folder that no command has used for this long is not kept. */
export const folderIdleMs = 15 * 60_000;
