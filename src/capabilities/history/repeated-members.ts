const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/**
 * Names what an object of JSON has twice, of which `JSON.parse` would take the last. Members of members do not count.
 * @returns a function of a line of valid JSON, with one problem at most
 */
export function repeatedMembers(names: readonly string[]): (json: string) => string[] {
	const members = names.map((name) => ({ name, quoted: JSON.stringify(name) }));
	return (json) => {
		for (const { name, quoted } of members) {
			// Nearly all names occur once at most, which is found out without looking at the rest.
			const first = json.indexOf(quoted);
			if (first >= 0 && json.indexOf(quoted, first + 1) >= 0 && countMembers(json, quoted) > 1)
				return [`it has several members ${name}`];
		}
		return [];
	};
}

function countMembers(json: string, member: string): number {
	let [depth, count, before] = [0, 0, ''];
	for (const [part] of json.matchAll(token)) {
		if (part === ':' && depth === 1 && before === member) count++;
		if (part === '{' || part === '[') depth++;
		if (part === '}' || part === ']') depth--;
		before = part;
	}
	return count;
}
