/** The roles of a server: `api` accepts uploads and serves reads, `collect` accepts hits, `manage` changes settings of accounts. */
export const serverRoles = ['api', 'collect', 'manage'] as const;
export type ServerRole = (typeof serverRoles)[number];
