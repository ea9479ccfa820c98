/** Its sandbox, which no turn opens here, is the one that needs neither a container nor a virtual machine. */
import { defineSandbox } from "eve/sandbox";
import { JustBashSandbox } from "eve/sandbox/just-bash";

export const environment = JustBashSandbox.environment();
export default defineSandbox(() => environment.open());
