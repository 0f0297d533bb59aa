/** An account's own rule, tried before the built-in ones; see `matches` in `collect/channels.ts` for the pattern. */
export interface ChannelRule {
	readonly channel: string;
	readonly pattern: string;
}
