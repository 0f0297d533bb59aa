/** Messages between the primary and its workers. Signals are not used, because a terminal sends them to all processes. */
export type FromWorker = { readonly type: 'serving'; readonly url: string };
export type ToWorker = { readonly type: 'stop' };
