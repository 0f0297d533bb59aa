/**
 * A key that more than so many share names no person. Visitors share a `tid` or a `cid` that they have shown, subscriptions
 * the `cid` of their events, customers the `subid` of theirs. See `docs/decisions/0012`.
 */
export const maxSharing = 2500;

/** Keys that too many share (`t:…`, `c:…`, `s:…`). They join nobody, like those that stand for a missing one. */
export type SharedKeys = ReadonlySet<string>;

export const noSharedKeys: SharedKeys = new Set();
