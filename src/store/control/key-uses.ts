import type { KeyUse } from '../../domain/api-key.ts';
import type { Steps } from '../steps.ts';

/** Records when keys were used. Servers may do so in any order: the latest use counts. */
export function* recordKeyUses(uses: readonly KeyUse[]): Steps<void> {
	yield [
		{
			sql: 'UPDATE @api_key AS api_key SET last_used_at = used.column2 FROM (?rows) AS used WHERE api_key.id = used.column1 AND (api_key.last_used_at IS NULL OR api_key.last_used_at < used.column2) /* key uses */',
			rows: uses.map(({ keyId, atMs }) => [keyId, atMs]),
		},
	];
}
