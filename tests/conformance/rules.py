"""The rules, one a line: id, side, where it comes from, what it asks for. Read by `requirements.py`."""

RULES = """
ENV-1 B schema every message says jsonrpc "2.0"; one that does not is refused
ENV-2 B docs,ours messages are UTF-8; other bytes are a parse error of that one frame
ENV-3 B schema,peers the keys decide what a message is, and a mixture of two kinds is invalid
ENV-4 B schema,peers params are an object, null or absent (both mean {}); anything else is invalid params
ENV-5 B schema a present id makes a request, even a null one; without id it is a notification
ENV-6 B ours members nobody knows are ignored in envelope and objects
ENV-7 B rpc,peers a notification is never answered, whatever is wrong with it
ENV-8 B docs an unknown request is answered method-not-found, an unknown notification ignored
ENV-9 B peers a method of the other direction is an unknown one
ENV-10 B docs,peers text that is not JSON gets one parse error under a null id, and the connection lives on
ENV-11 B rpc JSON that is no request gets invalid-request, under its id if that can be read, else null
ENV-12 B peers a malformed response is never answered; it fails the call it names
ENV-13 B peers a response nobody waits for is ignored
ENV-14 B peers bad params are answered -32602 under the same id, and nothing else happens
ENV-15 B ours what a handler raises becomes -32603 with its text withheld
ENV-16 B schema,ours a response has a result or an error; a result may be any JSON where the method allows it
ENV-17 B peers every request gets exactly one response, also when its handler forgets
ENV-18 B peers when the transport ends all open calls fail at once, and queued responses are still written
ENV-19 B ours,peers a response is not seen before the notifications that came before it were applied
ENV-20 B peers reading never waits for a handler or for somebody who awaits an answer
ENV-21 B ours,peers messages of tens of megabytes pass; one beyond the limit is lost alone
ID-1 B schema,ours an id is null, a 64-bit integer or a string; fractions, booleans and containers are refused
ID-2 B schema the response carries the id with the same type and value
ID-3 B rpc each side counts its own ids, and equal ones in both directions do not meet
ID-4 B peers no id of ours is used twice; two open requests of the peer with one id are two calls
ID-5 B schema no null ids are sent
ID-6 B peers ids of peers are taken as they come: strings and integers alike
BAT-1 B schema,docs arrays of calls and arrays of responses are accepted
BAT-2 B docs an empty array gets a single invalid-request object
BAT-3 B docs each invalid element gets its own error, the others are worked on
BAT-4 B docs a batch that needs no answer gets nothing, not an empty array
BAT-5 B docs the responses of a batch come as one array when all are there
BAT-6 B docs,peers elements start in the order they came
BAT-7 B docs lifecycle requests in a batch are handled, though nobody should batch them
BAT-8 A rfd,ours updates whose order matters are not sent as a batch
BAT-9 C ours the updates in a batch are applied in array order
BAT-10 B peers equal ids in one batch get one response each
BAT-11 B peers of an array that mixes calls and responses each element counts for itself
BAT-12 D peers @bridge a relay answers a batch it passed on as one array, never in parts
BAT-13 B ours we never send a batch of calls
BAT-14 D rfd,peers @http a batch over HTTP is accepted, or refused with 501 when so configured
ERR-1 B schema an error has an int32 code, a message and any data; codes nobody knows are preserved
ERR-2 A schema,peers authentication-required only ever means log in and try again
ERR-3 A ours,peers an unknown session is an error, resource-not-found from us
ERR-4 A ours a method that exists but is not advertised is answered method-not-found
ERR-5 B schema the message of an error is one short sentence
CAN-1 B schema,docs only who sent a request may withdraw it, with a notification that names its id
CAN-2 B schema,ours a $/ notification nobody knows is ignored, a $/ request refused
CAN-3 B peers withdrawing what is unknown, done or malformed does nothing
CAN-4 B docs a withdrawn request is still answered, once
CAN-5 B docs,rfd,ours withdrawing a request withdraws what its handler asked of the peer
CAN-6 B docs updates that are due may come before the answer
CAN-7 B docs,ours the sender keeps the call until the answer; -32800 is a cancellation and no failure
CAN-8 B docs work that is given up inside is answered -32800 too
CAN-9 D rfd,peers @bridge a relay withdraws under the id it used itself
CAN-10 B peers initialize can be withdrawn like any request
CAN-11 B peers,ours giving up an await withdraws its request
CAN-12 A ours,docs withdrawing a prompt counts until it is accepted, not afterwards
CAN-13 B docs,ours an open permission is resolved once, by session cancel or by withdrawal, never as consent
CAN-14 D peers @http over HTTP a $/ message belongs to the connection
INI-1 B docs,peers initialize comes first; before it requests are refused and notifications dropped
INI-2 C schema,docs the client offers its latest version, its name and its capabilities
INI-3 A docs the agent answers the same version if it speaks it, else its own latest
INI-4 C docs a client that does not speak the answered version closes and says why
INI-5 A peers,ours the version is read first; a v1-shaped request still gets an honest answer
INI-6 C docs,ours an answer of version 1 is seen for what it is, and not gone on with in v2
INI-7 C peers,ours a refused initialize is not silently tried again in another version
INI-8 A schema a version that is no uint16 is invalid params
INI-9 A peers a version from the future is read as the latest we know
INI-10 A peers after success a second initialize is refused and changes nothing; after a failure one may retry
INI-11 B docs,schema an omitted or null capability means no, an empty object yes
INI-12 B schema a malformed capability means no and fails nothing
INI-13 B docs any combination of capabilities works
INI-14 B docs unknown capability keys are ignored
INI-15 B schema,docs no session capability means no sessions; an empty one means the whole baseline
INI-16 B schema,docs both sides must say their name and version
INI-17 B schema the title is for people, and the name stands in for it
INI-18 B ours,peers what was negotiated holds for one connection only
INI-19 A docs an agent uses nothing of a client that this client has not advertised
AUTH-1 B docs,schema a method that is advertised can be logged in with and out of; without any both are refused
AUTH-2 A schema the auth capability says nothing about methods
AUTH-3 C schema,docs a method has type, id and name; types nobody knows are kept
AUTH-4 A schema,peers login works with a method advertised here, of a kind the protocol drives
AUTH-5 A docs terminal methods are shown only to clients that can do them
AUTH-6 C docs a terminal login runs the agent's own command with the method's arguments, then connects anew
AUTH-7 C schema,ours a login by variables asks for each, and starts the agent again with them
AUTH-8 B schema,docs gated requests may ask for a login first
AUTH-9 A docs after a login they do not ask any more
AUTH-10 A docs after a logout they ask again
AUTH-11 A ours logging out twice succeeds
AUTH-12 D rfd @http who may use the daemon is another question than who the agent is logged in as
SES-1 B docs,ours every path is absolute, also in the ways of Windows; relative ones are refused
SES-2 A docs,ours session ids are the agent's, unique, and cannot be guessed
SES-3 B ours a session belongs to no connection by the protocol
SES-4 B schema,peers updates may come before the answer that names their session, and are kept until then
SES-5 C ours updates of sessions nobody knows are ignored
SES-6 A docs relative work is relative to the session's cwd, not to the process
SES-7 A docs the roots of a session are its cwd and the additional directories
SES-8 B docs,rfd additional directories only when advertised, absolute, and never silently ignored
SES-9 A ours directories that are no strings are dropped, relative or empty ones refused
SES-10 B docs,ours MCP servers are optional; kinds that are not advertised are refused by name
SES-11 A schema a new session is answered with its id and, if it has any, all its options
SES-12 C docs an idle after creation ends no later prompt
SES-13 A docs,peers listing filters exactly before it pages; the cursor is opaque and a bad one an error
SES-14 C docs the directories of a listed session are what is reported, nothing remembered
SES-15 A ours,peers newest first with ties broken, so that pages neither skip nor repeat
SES-16 A schema cwd and cursor of a listing are strict
SES-17 A docs no history without replayFrom; with start all of it before the response
SES-18 A docs,ours a replay has the ids of the live session
SES-19 A rfd,peers a replay has tools, plans, terminals as snapshots, info and options
SES-20 A schema,ours a cursor of an unknown kind is refused by an agent, and kept by a relay
SES-21 A schema,docs,ours resuming needs the session's own cwd; directories are those of the request
SES-22 A docs MCP servers are those of the request that resumes
SES-23 A ours resuming an active session starts no second loop
SES-24 C ours a replay replaces the client's view
SES-25 A ours who resumes a working session hears its state and is asked its open questions
SES-26 A docs,peers closing cancels, flushes, frees, then answers; a closed session takes no prompt until resumed
SES-27 A docs closing deletes no history
SES-28 A docs,ours deleting is idempotent, closes first and cannot be resumed
SES-29 A schema,rfd a fork has a new id and leaves its source alone
SES-30 B schema session info is a patch of three states
PRM-1 B docs,ours prompts hold text and links, and what was advertised; the rest is refused
PRM-2 A schema,ours one malformed or unknown block refuses the prompt
PRM-3 A docs a prompt is answered when it is accepted, long before it is done; a refused one leaves no trace
PRM-4 A docs the user's message is reported with an id of the agent's, at its place
PRM-5 C docs,ours the client shows the reported message, not its own copy
PRM-6 A docs work that begins or goes on says running
PRM-7 A docs waiting for the user says requires_action, then running
PRM-8 A docs,schema the end of work says idle with a stop reason
PRM-9 B schema stop reasons nobody knows are still the end
PRM-10 C docs,peers,ours a prompt is over at the idle that follows its own running
PRM-11 A ours,docs a failure after acceptance is told and still comes to idle
PRM-12 C docs updates while idle are applied and change no state
PRM-13 A rfd,ours a second prompt meets one clear policy
PRM-14 A rfd,ours prompts wait in a bounded line, unanswered, and can be withdrawn from it
PRM-15 C docs who cancels marks open tools, answers open permissions, and still listens
PRM-16 A docs cancelled work flushes, then says idle cancelled, once
PRM-17 A peers,ours cancelling nothing does nothing
PRM-18 A ours cancelling drops waiting prompts and says so
PRM-19 A peers,ours a cancel between acceptance and running still ends in idle cancelled
PRM-20 A schema usage at idle has three counts, or is not there
MSG-1 A docs every message and chunk has an id, one for each message
MSG-2 C docs messages fold by upsert and append, in order
MSG-3 C schema,docs metadata patches a message; a chunk's is its own
MSG-4 C docs,ours messages may interleave
MSG-5 C ours blocks keep their borders
MSG-6 C ours the same id for another kind is another message
MSG-7 C schema text is markdown by somebody who is not trusted
MSG-8 C schema annotations are hints
TCL-1 C schema the first update of an id makes a call with defaults
TCL-2 A docs a call is reported, with a title at first
TCL-3 C schema,docs fields patch: kept, cleared or replaced, lists as a whole
TCL-4 C docs a content chunk appends, also to a call nobody knows
TCL-5 C schema,ours statuses are open and go in any order
TCL-6 C docs calls may change while idle
TCL-7 A ours no call is left open when work ends
TCL-8 A schema,docs locations are absolute, lines count from one
TCL-9 C docs kind and name decide nothing about safety
TCL-10 C schema content nobody knows is kept
TCL-11 B rfd,ours a call is announced before its permission is asked
TRM-1 C docs,rfd terminals are the agent's, and only shown
TRM-2 B docs terminal ids are unique, not reused, and apart from call ids
TRM-3 C schema a terminal is patched by three states
TRM-4 C docs output is a snapshot that replaces
TRM-5 C docs each chunk is decoded by itself, bytes appended; a snapshot resets the decoder
TRM-6 C ours bad base64 is dropped, the rest kept
TRM-7 B schema an exit status that is there means exited, whatever it says
TRM-8 C ours output after the exit is applied
TRM-9 C rfd output cannot act on the reader's terminal
TRM-10 B ours,peers retained output is bounded, cut at characters
TRM-11 A rfd a replay has one snapshot per terminal
DIF-1 B docs changes say which absolute paths; the patch is optional
DIF-2 B schema moves and copies have two paths, others one; unknown operations are kept
DIF-3 B schema a git patch has sections and no envelope; other formats are not parsed
DIF-4 K schema changes must be a list, of which bad items are skipped
DIF-5 B docs,ours absolute paths in patches have no prefixes
DIF-6 B schema binary files have no hunks, unknown types none
DIF-7 C ours a diff is a report and never applied
PLN-1 C docs plans live side by side, each replaced whole
PLN-2 A schema every plan update has all entries
PLN-3 B docs,schema file plans have absolute addresses; clients take plans of any kind
PLN-4 K schema,docs every plan has an id, of unknown kind too
PLN-5 C ours removing an unknown plan does nothing
PLN-6 C rfd,ours updates of v1 are unknown variants here
PER-1 B schema a permission has session, title and options
PER-2 C schema,ours without options it is invalid
PER-3 C schema,docs a malformed subject of a known kind is invalid, one of an unknown kind kept
PER-4 C schema,peers the answer is an id that was offered, exactly, or cancelled
PER-5 A schema,peers only a chosen allowing option that was offered is consent
PER-6 C docs,ours policies may answer; remembering is the agent's
PER-7 C docs options of unknown kinds are never chosen by a policy
PER-8 C docs consent to a command makes the client run nothing
PER-9 C docs,peers several may be open, each answered by itself
PER-10 C docs,peers whatever ends the session's work resolves them as cancelled
PER-11 D ours nobody there means an explicit no in bounded time
PER-12 C ours what is asked is shown whole and literally
PER-13 C ours,peers a no is a reject option if there is one, never an allowing one
ELI-1 B docs a mode is used only when it was advertised by itself
ELI-2 B docs,schema the mode is explicit, and a scope is there
ELI-3 K schema,ours of two scopes the session counts
ELI-4 A docs the answer counts only from the connection that was asked
ELI-5 C schema forms are flat; kinds nobody knows cannot be rendered
ELI-6 K schema forms are written whole and read forgivingly
ELI-7 B schema choices are not empty
ELI-8 C schema,rfd patterns are tried in bounded time, unknown formats ignored
ELI-9 B docs defaults are filled in, answers checked on both sides
ELI-10 B schema,docs only accept has content, of plain kinds
ELI-11 A docs every way of not accepting is handled
ELI-12 A docs secrets are never asked by form
ELI-13 A docs an address has an id of its own; accepting means opening
ELI-14 B docs completion may be told; unknown ids are ignored
ELI-15 C docs,ours addresses are shown, consented to, and http or https
ELI-16 C docs the user sees who asks
ELI-17 C ours questions of a session that ends are answered cancel
CFG-1 B docs options always come whole and replace
CFG-2 C docs their order is the agent's
CFG-3 A docs every option has a value without anybody choosing
CFG-4 C schema,docs selects, booleans, and others that are kept
CFG-5 A schema,ours setting is typed; what does not fit is refused and changes nothing
CFG-6 B schema the answer to setting is the whole list
CFG-7 C docs categories are for display
CFG-8 A docs the agent may change them by itself
CFG-9 A rfd,ours they can be set while running
CFG-10 K schema,peers no choices is ungrouped; a group id decides
CFG-11 C ours a current value nobody offered is shown as it is
MSC-1 C schema,docs commands come whole and replace
MSC-2 A docs a command is a prompt that begins with its name
MSC-3 A docs commands may come before the first prompt and change
MSC-4 B schema,peers usage has numbers or is not sent
MSC-5 C schema session info is a patch
PRV-1 A schema,rfd providers are listed without secrets
PRV-2 A schema,rfd setting replaces everything of one; unknown ones are refused
PRV-3 A rfd disabling a required one is refused, an unknown one fine
PRV-4 A rfd,ours a disabled provider is not used; each process has its own
PRV-5 B ours header values are never logged
NES-1 A schema,rfd suggestion sessions have their own ids
NES-2 C rfd documents are told in order, as advertised, after the start
NES-3 A schema,rfd changes apply one after the other to the text so far
NES-4 B schema,rfd positions count in what was agreed, else UTF-16
NES-5 B schema suggestions are of advertised kinds, strict, and edits are not empty
NES-6 C rfd,ours what is overtaken is withdrawn and dropped
NES-7 C schema accepting and rejecting name the suggestion
NES-8 A schema closing cancels and frees
NES-9 K schema names are camel case where the schema says so
NES-10 A schema,ours a change that cannot be read makes the document unknown
MCP-1 C schema a server over ACP has an id of its own
MCP-2 C schema,rfd each connect is a connection of its own; unknown servers are refused
MCP-3 B schema inner requests and errors pass as they are
MCP-4 B schema both sides send
MCP-5 C rfd the inner handshake passes through
MCP-6 B rfd,peers an unknown connection refuses requests and ignores notifications
MCP-7 B schema,ours after a disconnect, or a session's end, it is dead
MCP-8 K schema params are strict in the request and forgiven in the notification
MCP-9 B ours withdrawing passes to the inner protocol
MCP-10 G rfd,peers @bridge servers are offered to agents without this in other ways
EXT-1 B docs metadata is open on every object, trace keys reserved
EXT-2 B docs nothing of ours is added at the root of their types
EXT-3 B docs our methods start with an underscore
EXT-4 B docs unknown custom requests are refused, notifications ignored
EXT-5 B docs what has no underscore is the future, not an extension
EXT-6 B ours,peers metadata never reaches the params of a handler
EXT-7 D ours metadata passes untouched
EXT-8 B rfd,peers methods of proxies are unknown here
FWD-1 K schema open enums keep unknown values, closed ones do not
FWD-2 K schema unknown variants are kept whole and written back alike
FWD-3 K schema,peers a known tag with a bad body is an error
FWD-4 K schema a tag that is missing or no string is an error
FWD-5 K schema some unknown variants need members too
FWD-6 K schema unions without tags are tried in the schema's order
FWD-7 C schema,docs unknown updates break nothing, an unknown state is not idle, an unknown reason is an end
FWD-8 D docs what is stored and passed on keeps unknown values
FWD-9 B schema an unknown decision permits nothing
FWD-10 B ours unknown members are ignored, and kept where bytes are passed on
STD-1 B docs,ours one value a line; CRLF and blank lines are taken
STD-2 B docs stdout has messages only, stderr is drained
STD-3 C docs the client writes nothing else to the agent
STD-4 C ours,peers a line that is no message is skipped, not answered over and over
STD-5 B docs,peers the end of input ends the agent; the client goes down a ladder, for the whole group
STD-6 B ours,peers lines are long, UTF-8, whole
STD-7 A ours prints of libraries go to stderr
STD-8 B ours a slow reader makes nobody drop or reorder
HTTP-1 D rfd @http one address for POST, GET and DELETE
HTTP-2 D rfd @http connection and session ids travel in headers
HTTP-3 D rfd @http initialize is answered in the body, with the connection's id
HTTP-4 D rfd @http everything else is accepted and answered on a stream
HTTP-5 D rfd @http streams are for a connection or for a session
HTTP-6 D rfd,peers @http what belongs to a session goes to its stream
HTTP-7 C peers,ours @http answers are matched by id over all streams
HTTP-8 D rfd @http DELETE ends the connection
HTTP-9 D rfd,peers @http each mistake has its status
HTTP-10 D ours @http bad JSON is 400 with a parse error
HTTP-11 D peers @http a failed initialize leaves no connection
HTTP-12 D rfd,peers @http session methods need the session's id
HTTP-13 D rfd,ours @http HTTP/1.1 is accepted
HTTP-14 C rfd @http cookies are kept, WebSocket is there
HTTP-15 D rfd @http the version header is ignored
HTTP-16 D rfd,peers @http what nobody reads yet is kept, bounded
HTTP-17 D rfd,ours @http sessions outlive connections
HTTP-18 D rfd,ours @http a session's stream may be opened before it is resumed
HTTP-19 B peers @http the session stream is opened at once, early events wait
HTTP-20 D peers,rfd,ours @http batches are accepted or refused as configured
HTTP-21 C peers @http posts are ordered, answers go beside them
HTTP-22 D peers,rfd @http idle streams are kept alive
HTTP-23 C ours,peers @http the end of a stream is a loss to recover from
HTTP-24 D peers,ours @http a slow reader loses its stream, not messages
HTTP-25 D peers,ours @http a permission without a reader waits, then is cancelled
HTTP-26 D rfd @http one text frame is one message
HTTP-27 D rfd @http sessions share a socket
HTTP-28 D ours @http frames may be large
HTTP-29 D peers,rfd @http origins and hosts are checked
HTTP-30 D rfd,ours @http loopback or a token; ids are no credentials
HTTP-31 D ours @http ids cannot be guessed
HTTP-32 D peers,ours @http health says nothing
SEC-1 D docs,ours what an agent may touch is limited by the system
SEC-2 B ours secrets of MCP servers appear nowhere
SEC-3 B docs,ours no command to start comes from the wire
SEC-4 C ours what an agent says is shown, not obeyed
SEC-5 B schema every ambiguous way ends in no
SEC-6 A ours a session answers to its own principal
SEC-7 A ours file links are read inside the roots, or with permission
SEC-8 B ours patterns, depths and numbers are bounded
BR-1 G ours @bridge a bridge is a peer on both sides, with its own state
BR-2 G ours @bridge it advertises what it can deliver
BR-3 G ours @bridge ids do not pass
BR-4 G ours @bridge metadata is copied
BR-5 G ours @bridge what has no v1 form is dropped toward v1
BR-6 G ours @bridge extensions pass
BR-7 G ours @bridge errors pass with their code
"""
