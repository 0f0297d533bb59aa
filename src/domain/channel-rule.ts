/** An account's own rule, tried before the common ones; `collect/channels.ts` says what a pattern may be. */
export interface ChannelRule {
	readonly channel: string;
	readonly pattern: string;
}
