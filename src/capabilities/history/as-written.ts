/** Of commands that read files of ids. */
export const asWrittenOption = [
	'--ids-as-written',
	'take ids as they are, also those that look as if a spreadsheet had changed them',
] as const;
