import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Files of a certificate of `localhost` that no authority has signed, and of its key. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Makes one in a folder. */
export function makeCertificate(folder: string): Certificate {
  const [certFile, keyFile] = [join(folder, "server.crt"), join(folder, "server.key")];
  const extensions = ["subjectAltName=DNS:localhost,IP:127.0.0.1", "basicConstraints=critical,CA:FALSE"];
  const whose = ["-subj", "/CN=localhost", ...extensions.flatMap((extension) => ["-addext", extension])];
  execFileSync(
    "openssl",
    ["req", "-new", "-x509", "-days", "2", "-nodes", ...whose, "-keyout", keyFile, "-out", certFile],
    { stdio: "ignore" },
  );
  return { certFile, keyFile };
}
