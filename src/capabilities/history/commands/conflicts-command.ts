/** Exit code of a command that did not store events, because their `tid` is stored with other content. */
export const exitConflicts = 3;

/** Of commands that store events. */
export const conflictsOption = [
	'--conflicts <what>',
	'if a tid is stored with different content: fail, with exit code 3, or ok',
	['fail', 'ok'],
	'fail',
] as const;
