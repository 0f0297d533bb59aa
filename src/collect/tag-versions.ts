/** The version that `GET /tag.js` serves. */
export const currentTag = 'tag.v2.js';

/** SHA-256 of each published file. Pages depend on a version, so its file never changes. The next one is v3. */
export const publishedTags: Readonly<Record<string, string>> = {
	'tag.v2.js': 'dee6eb6f2d81c5d3518210d2e2e3304f93ffca534fb8f82aad64d79d7b34bcc3',
	'tag.v1.js': 'b1192da016bf43ce84682dd6419a7ee12a77877e56459a71fbd65adc9b056225',
};
