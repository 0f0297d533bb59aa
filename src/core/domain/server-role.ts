/** The roles of a server: `api` accepts uploads and serves reads, `collect` accepts hits. */
export const serverRoles = ['api', 'collect'] as const;
export type ServerRole = (typeof serverRoles)[number];
