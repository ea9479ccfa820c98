import ipaddr from "ipaddr.js";
import { invalid } from "../errors.ts";

/** Public addresses at which a cloud offers its own metadata and host services. */
const cloudInternalAddresses = new Set(["168.63.129.16"]);
/** Names that never belong to a public host: those of this machine and of private networks. */
const privateNamePattern = /(^|\.)(localhost|local|internal|home\.arpa)$/;
/** All public IPv6 addresses begin with these three bits. */
const globalIpv6 = ipaddr.IPv6.parse("2000::");
const globalIpv6PrefixBits = 3;

/**
 * Returns whether an IP address is public, so that anyone on the internet may offer a
 * service at it. No special address is: loopback, private, link-local (the metadata
 * services), carrier-grade NAT, multicast, documentation, and every IPv6 form
 * that carries an IPv4 address inside (mapped, NAT64, 6to4, Teredo).
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== "unicast") return false;
  if (address.kind() === "ipv4") return !cloudInternalAddresses.has(address.toString());
  return (address as ipaddr.IPv6).match(globalIpv6, globalIpv6PrefixBits);
}

/**
 * Returns what is wrong with a URL that a tenant supplies, as the end of a sentence, or
 * null when nothing is (docs/decisions/private-addresses.md). Checks the text only:
 * the addresses of a name are checked when it is resolved, by `guardedFetch`.
 */
export function tenantUrlFault(text: string, allowPrivate: boolean): string | null {
  if (!URL.canParse(text)) return "must be a URL";
  const url = new URL(text);
  if (url.protocol !== "https:" && !(allowPrivate && url.protocol === "http:"))
    return allowPrivate
      ? "must be a URL that starts with http:// or https://"
      : "must be a URL that starts with https://";
  if (url.username !== "" || url.password !== "") return "must not hold a user name or password";
  if (!allowPrivate && !isPublicHost(url.hostname)) return "must be a public address";
  return null;
}

/** Checks a URL that a tenant supplies. Throws 400 `validation_failed` naming the field at `path`. */
export function checkTenantUrl(path: string, url: string, allowPrivate: boolean): void {
  const fault = tenantUrlFault(url, allowPrivate);
  if (fault !== null) throw invalid(path, fault);
}

/** Returns whether a URL's host may be public: a public address, or a full name outside those of private networks. */
export function isPublicHost(hostname: string): boolean {
  const host = hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  if (ipaddr.isValid(host)) return isPublicAddress(host);
  return host.includes(".") && !privateNamePattern.test(host);
}
