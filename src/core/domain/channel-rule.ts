import { OperatorError } from '../errors.ts';

/** An account's own rule, tried before the built-in ones; see `matches` in `collect/channels.ts` for the pattern. */
export interface ChannelRule {
	readonly channel: string;
	readonly pattern: string;
}

/** Parses a rule as people write it: partner=*.partner.example/*. @throws OperatorError */
export function parseChannelRule(value: string): ChannelRule {
	const [, channel, pattern] = /^([^=\p{C}]{1,50})=(\P{C}{1,200})$/u.exec(value) ?? [];
	if (!channel || !pattern)
		throw new OperatorError('It must be a channel and a pattern, for example partner=*.partner.example/*.');
	if (neverMatches(pattern.trim()))
		throw new OperatorError(
			'The pattern must be of addresses as browsers write them, without https://, for example partner=*.partner.example/*.',
		);
	return { channel: channel.trim(), pattern: pattern.trim() };
}

/** An address begins with its host, has a slash behind it, and only visible ASCII characters. */
function neverMatches(pattern: string): boolean {
	return /^(https?:\/)?\/|[^!-~]/i.test(pattern) || !/[*/]/.test(pattern);
}

/** The rule as people write it. */
export function shownChannelRule({ channel, pattern }: ChannelRule): string {
	return `${channel}=${pattern}`;
}
