import { Option } from 'commander';

/** Exit code of a command that did not store events, because their `tid` is stored with other content. */
export const exitConflicts = 3;

export interface ConflictsOption {
	readonly conflicts: 'fail' | 'ok';
}

/** Of commands that store events. */
export function conflictsOption(): Option {
	return new Option(
		'--conflicts <what>',
		'if a tid is stored with other content: fail, with exit code 3, or ok',
	)
		.choices(['fail', 'ok'])
		.default('fail');
}
