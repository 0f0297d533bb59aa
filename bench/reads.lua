-- The requests that wrk sends: GET TARGET, with a random one of the first MAX_CASKS casks of the file CASKS (one per line).

local target = os.getenv('TARGET')
local max_casks = tonumber(os.getenv('MAX_CASKS'))
local requests = {}
for cask in io.lines(os.getenv('CASKS')) do
	if #requests == max_casks then break end
	requests[#requests + 1] = 'GET ' .. target .. '?cask=' .. cask
		.. ' HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://shop.example\r\n\r\n'
end
math.randomseed(os.time())

request = function() return requests[math.random(#requests)] end

dofile(os.getenv('SUMMARY'))
