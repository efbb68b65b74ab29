import type { AvailabilityReport, HealthStatus } from "./availability.ts";

/** Derives the health from the availability, for an adapter without its own checks. */
export function healthOf(
  report: AvailabilityReport,
  { latency_ms, last_check }: Pick<HealthStatus, "latency_ms" | "last_check">,
): HealthStatus {
  const { availability, reason, version } = report;
  const found = availability !== "missing" && availability !== "unrunnable" && availability !== "disabled";
  const limited = availability === "rate_limited" || availability === "quota_exhausted";
  const healthy = availability === "available";
  return {
    status: healthy ? "healthy" : limited ? "degraded" : "unhealthy",
    latency_ms,
    last_check,
    ...(healthy ? {} : { error: reason }),
    details: {
      binary_found: found,
      authenticated: healthy || limited,
      ...(version === undefined ? {} : { binary_version: version }),
    },
  };
}
