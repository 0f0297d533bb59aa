/** Of commands that read files of ids. */
export const asWrittenOption = [
	'--ids-as-written',
	'take ids as they are, even if a spreadsheet seems to have changed them',
] as const;
