-- The requests that wrk sends: uploads of ROWS events with the API key KEY. Building them must be cheap, because wrk shares
-- the cores with the server. Each request goes to a random one of ACCOUNTS accounts. If CUSTOMERS is not 0, each event has the
-- cid and the subid of a random one of that many customers. TIDS is 'rising', 'random' (like UUIDs, spread over the index) or
-- 'same' (one fixed request).

local rows = tonumber(os.getenv('ROWS'))
local prefix = os.getenv('PREFIX')
local key = os.getenv('KEY')
local tids = os.getenv('TIDS')
local accounts = tonumber(os.getenv('ACCOUNTS'))
local customers = tonumber(os.getenv('CUSTOMERS'))

local head = 'POST /subscription HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n'
if key ~= '' then head = head .. 'x-api-key: ' .. key .. '\r\n' end
head = head .. 'Content-Length: '

local beginnings = {}
for account = 1, accounts do beginnings[account] = '{"aid":"c-a-bench-' .. account .. '","data":[' end

local after = {}
for i = 1, rows do
	after[i] = string.format('","subid":"sub-%06d","cid":"cust-%06d","evt":"newsletter","rvn":%d}', i * 37, i * 91, 1000 + i)
end

-- The parts of a body. The first is its beginning; a row's parts start with the text before its tid.
local parts = {}
local before = {}
for i = 1, rows do before[i] = (i == 1) and '{"tid":"' or ',{"tid":"' end
local counter = 0

local function message(count)
	parts[1] = beginnings[accounts == 1 and 1 or math.random(accounts)]
	parts[count + 1] = ']}'
	local body = table.concat(parts, '', 1, count + 1)
	return head .. #body .. '\r\n\r\n' .. body
end

local risingStart = {}
local risingEnd = {}
for i = 1, rows do
	risingStart[i] = before[i] .. 'o-' .. prefix .. '-'
	risingEnd[i] = string.format('-%02d', i) .. after[i]
end

local function rising()
	counter = counter + 1
	local number = string.format('%08d', counter)
	local n = 1
	for i = 1, rows do
		parts[n + 1] = risingStart[i]
		parts[n + 2] = number
		parts[n + 3] = risingEnd[i]
		n = n + 3
	end
	return message(n)
end

-- Like 'rising', of random customers.
local function joined()
	counter = counter + 1
	local number = string.format('%08d', counter)
	local n = 1
	for i = 1, rows do
		parts[n + 1] = risingStart[i]
		parts[n + 2] = number
		local customer = math.random(customers)
		parts[n + 3] = string.format('-%02d","subid":"sub-%07d","cid":"cust-%07d","evt":"newsletter","rvn":%d}',
			i, customer, customer, 1000 + i)
		n = n + 3
	end
	return message(n)
end

local hex = {}
local randomEnd = {}
if tids == 'random' then
	math.randomseed(tonumber(prefix))
	for i = 0, 65535 do hex[i] = string.format('%04x', i) end
	-- The last digits are a counter, after digits of the prefix, so tids never repeat.
	local stretch = string.format('-4%03x-8%03x-', tonumber(prefix) % 4096, math.floor(tonumber(prefix) / 4096) % 4096)
	for i = 1, rows do randomEnd[i] = { stretch, string.format('%02x', i) .. after[i] } end
end

local function random()
	counter = counter + 1
	local number = string.format('%010x', counter)
	local n = 1
	for i = 1, rows do
		parts[n + 1] = before[i]
		parts[n + 2] = hex[math.random(0, 65535)]
		parts[n + 3] = hex[math.random(0, 65535)]
		parts[n + 4] = '-'
		parts[n + 5] = hex[math.random(0, 65535)]
		parts[n + 6] = randomEnd[i][1]
		parts[n + 7] = number
		parts[n + 8] = randomEnd[i][2]
		n = n + 8
	end
	return message(n)
end

if customers > 0 then
	math.randomseed(tonumber(prefix))
	request = joined
elseif tids == 'same' then
	local fixed = rising()
	request = function() return fixed end
elseif tids == 'random' then
	request = random
else
	request = rising
end

dofile(os.getenv('SUMMARY'))
