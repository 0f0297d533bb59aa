import { everyContract } from '../contract/every-contract.ts';
import { freshCitusLike } from './citus-like.ts';

const freshAddress = () => freshCitusLike({ workers: { 'worker-1:5432': 'on' } });

everyContract({
	name: 'a stand-in of a cluster',
	freshAddress,
	installedAddress: freshAddress,
	isFolder: false,
});
