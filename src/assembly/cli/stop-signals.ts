/** A terminal that is closed sends the last one, and may send it twice. Node does not keep that `nohup` ignores it. */
export const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
