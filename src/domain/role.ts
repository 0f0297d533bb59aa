/** The roles of a server: `api` accepts uploads and serves reads, `collect` accepts hits. */
export const allRoles = ['api', 'collect'] as const;
export type Role = (typeof allRoles)[number];
