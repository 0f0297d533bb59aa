/** What processes that share a port tell each other. Not by signals: a terminal sends those to all of them. */
export type FromWorker = { readonly type: 'serving'; readonly url: string };
export type ToWorker = { readonly type: 'stop' };
