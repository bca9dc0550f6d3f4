"""The cases, one a line: id, side, source, the rules it is about, what is tried and what must come of it.

Read by `requirements.py`; `K` marks what the codec alone decides.
"""

CASES = """
C-01 K docs [] examples of the drafts read and written back mean the same
C-02 K schema [] random valid values of every definition round trip and stay valid
C-03 K schema [FWD-2] a custom variant of each union comes back as it was
C-04 K schema [EXT-5] a future variant is kept, and not taken for a custom one
C-05 K schema [FWD-3] a known tag without its members is an error
C-06 K schema [FWD-4] a tag missing, a number or null is an error
C-07 K schema [PLN-4] an unknown plan without an id is an error
C-08 K schema [FWD-5] an unknown login method without a name is an error, and dropped from its list
C-09 K schema [FWD-5] an unknown suggestion without an id is an error
C-10 K schema [FWD-1] open enums keep unknown strings
C-11 K schema [FWD-1] closed enums refuse them, and the nearest lenient field falls to its default
C-12 K schema [] the worked examples of lenient reading
C-13 K schema [] no JSON value in a lenient field fails its object
C-14 K schema [] a wrong type in a strict field is an error with its path
C-15 K schema [] required lenient arrays
C-16 K schema [DIF-4] the changes of a diff
C-17 K schema [] patch fields tell absent, null, value and garbage apart
C-18 K schema,ours [] a patch array of nothing but bad items clears, and that is told
C-19 K schema [] UNSET, null and a value are written apart
C-20 K schema [EXT-6] metadata that is no object is none
C-21 K docs,ours [EXT-7] metadata with anything in it round trips
C-22 K schema [INI-12] a capability that is no object is unsupported
C-23 K schema [TRM-7] an exit status that is empty, absent or null
C-24 K schema [] integers at the borders of their formats
C-25 K schema [] a float or a boolean is no integer, an integer no boolean
C-26 K schema [] an integer is a number
C-27 K ours [] infinities and lone surrogates cannot be written
C-28 K schema,peers [CFG-10] choices flat, grouped, empty and mixed
C-29 K schema [FWD-6] the three forms of items in a multi-select
C-30 K schema [FWD-6] a resource with text and blob is text
C-31 K schema [ELI-10] the kinds of a form's answer
C-32 K schema [ELI-2 ELI-3] scopes: one, the other, none, both
C-33 K schema [ID-2] ids 1, "1" and null are three keys
C-34 C ours [TRM-6] base64 that is not quite base64
C-35 K ours [SES-1] relative paths decode; what they are used for refuses them
C-36 K ours [SES-1] absolute in three ways
C-37 K ours [ENV-6] unknown members are ignored
C-38 K ours [SEC-8] depth, digits and size end in an error or a value
C-39 K ours [] of duplicate keys the last counts
C-40 K schema [FWD-7] updates of later drafts are unknown variants
C-41 K schema,ours [PLN-6] updates of v1 are unknown variants
C-42 B schema [ERR-1] all codes round trip
C-43 B schema [ERR-1] any data round trips
C-44 K schema [] a variable is secret and needed unless it says otherwise
C-45 K ours [] what we write needs no leniency
E-01 B docs,peers [ENV-10] half a message: one parse error, and on it goes
E-02 B rpc [ENV-11] JSON that is no message
E-03 B schema [ENV-1] another version of JSON-RPC
E-04 B docs [ENV-8] a request nobody knows
E-05 B docs [ENV-8] a notification nobody knows
E-06 B rpc [ENV-7] a notification with bad params
E-07 B schema [ENV-4 ENV-14] params missing, array, scalar
E-08 B schema [ID-2] every legal id is echoed
E-09 B schema [ID-1] illegal ids
E-10 B peers [ENV-13] a response to nothing
E-11 B peers [ENV-13] a second response
E-12 B peers [ENV-12] result and error at once
E-13 B peers [ENV-12] neither result nor error
E-14 B peers [ENV-3] method and result at once
E-15 B ours [ENV-15] a handler raises
E-16 B peers [ENV-17] a handler forgets to answer
E-17 B peers [ENV-18] the peer closes with calls open
E-18 B peers [ENV-18] end of input with a response queued
E-19 B peers [ENV-20] a handler that asks back
E-20 C ours [ENV-19] many updates and a response in one write
E-21 B rpc [ID-3] the same id in both directions
E-22 B peers [ID-4] the same id twice from the peer
E-23 B docs [BAT-5] a batch with a notification between
E-24 B docs [BAT-2] the empty batch
E-25 B docs [BAT-3] a batch with rubbish in it
E-26 B docs [BAT-4] a batch of notifications
E-27 B docs [BAT-1] a batch cut off
E-28 B docs,peers [BAT-5 ENV-20] a batch of slow and fast
E-29 B docs [BAT-1] an array of responses
E-30 C ours [BAT-9] a batch of updates
E-31 B peers [BAT-10] equal ids in a batch
E-32 A docs [BAT-7] initialize in a batch
E-33 B peers [CAN-3] withdrawing nonsense
E-34 B docs [CAN-4] withdrawing a long request
E-35 B peers [CAN-3] withdrawing what is answered
E-36 B schema [ID-2] withdrawing 1 leaves "1"
E-37 B peers,ours [CAN-11] an await given up
E-38 B docs,rfd [CAN-5] a nested request given up
E-39 B schema [CAN-2] an unknown $/ notification
E-40 A peers [ENV-9] a client's method sent to the agent
E-41 B docs [EXT-4] a custom request nobody registered
E-42 B schema,ours [ENV-16] a custom result of any kind
E-43 B ours [ENV-21] 20 MiB each way
E-44 B ours,peers [EXT-6] metadata that looks like params
I-01 A docs [INI-3] initialize with 2
I-02 A docs,ours [INI-3 INI-5] initialize with 1, in its own shape
I-03 A peers [INI-9] initialize with 3
I-04 A schema,docs [INI-16 INI-10] initialize without info, then again
I-05 A schema [INI-8] versions that are none
I-06 A docs,peers [INI-1] a request before initialize
I-07 A peers [INI-1] a notification before initialize
I-08 A peers [INI-10] initialize twice
I-09 A peers [INI-10] two initialize at once
I-10 C docs [INI-4] the agent answers 9
I-11 C docs,ours [INI-6] @bridge the agent answers 1 and can be gone on with
I-12 C peers,ours [INI-7] the agent refuses 2
I-13 C schema [INI-11] capabilities null or garbage
I-14 C schema [INI-15] no sessions, and yet one is wanted
I-15 C schema [INI-15] the baseline of sessions and what is beyond
I-16 A docs [INI-14] unknown capabilities
I-17 A ours,peers [INI-18] two connections, two sets of capabilities
I-18 B docs [AUTH-1] login without methods
I-19 A schema,peers [AUTH-4] login with an unknown method
I-20 A docs [AUTH-6] login with a terminal method
I-21 A docs [AUTH-5] a client without terminals
I-22 A docs [AUTH-8 AUTH-9] a session before and after login
I-23 A docs [AUTH-10] a session after logout
I-24 A schema [ERR-2] an agent without logins never asks for one
I-25 C docs [AUTH-6] a terminal login that succeeds, and one that fails
I-26 C docs [AUTH-6] a terminal method with one variable twice
I-27 C docs [AUTH-3] a method of an unknown kind
I-28 C docs [AUTH-10] a session that asks for a login in the middle
S-01 A docs [SES-1] cwd relative or missing
S-02 A docs [SES-6] a relative path of a tool
S-03 B docs,rfd [SES-8] directories that were not advertised
S-04 A ours [SES-9] directories of all kinds of wrong
S-05 A docs [SES-2] two sessions, two ids
S-06 C peers [SES-4] an update before the response
S-07 C ours [SES-5] an update of an unknown session
S-08 A docs,ours [SES-10] servers of kinds nobody advertised
S-09 A schema [SES-10] no servers
S-10 C docs [SES-10] a stdio server that was not advertised
S-11 A docs [SES-13] a listing of nothing
S-12 A peers [SES-15] a listing of many with equal times
S-13 A docs [SES-13] a listing of one cwd
S-14 A docs [SES-13] a bad cursor
S-15 A schema [SES-16] a cwd that is a number
S-16 A docs [SES-17] resuming without a replay
S-17 A docs [SES-17] resuming with one
S-18 A docs,ours [SES-18] the ids of a replay
S-19 A rfd,peers [SES-19] the contents of a replay
S-20 A docs [SES-17] replayFrom null
S-21 A ours [SES-20] replayFrom of an unknown kind
S-22 A ours,peers [ERR-3] resuming an unknown session
S-23 A ours [SES-21] resuming elsewhere
S-24 A schema [SES-21] resuming without the directories
S-25 A docs [SES-17 ENV-20] a long replay to a slow client
S-26 C ours [SES-24] a replay over an old view
S-27 A ours [SES-25] resuming what is running
S-28 A docs [SES-26] closing what is running
S-29 A docs,peers [SES-26 SES-27] a prompt after closing, and resuming
S-30 A peers [SES-26] closing what nobody knows
S-31 B docs [PER-10] closing with a permission open
S-32 A ours [ERR-4] deleting unasked
S-33 A docs [SES-28] deleting twice, and what is unknown
S-34 A docs [SES-28] a deleted session is not listed
S-35 A ours [SES-28] deleting what is active
S-36 A schema,rfd [SES-29] forking
S-37 C schema [SES-30] a title set, left and cleared
S-38 A ours [SEC-6] somebody else's session
P-01 A docs [PRM-3 PRM-4 PRM-6 PRM-8] a whole turn
P-02 A docs [PRM-3] the response before the first word
P-03 A docs [PRM-8] one idle each
P-04 A docs,ours [PRM-1] an image that was not advertised
P-05 A schema [PRM-2] a block without its text
P-06 A ours [PRM-2] an empty prompt
P-07 A docs [PRM-1] a resource link
P-08 A ours [PRM-2] a block of an unknown kind
P-09 A ours,docs [PRM-11] a failure in the middle
P-10 A rfd,ours [PRM-14] a second prompt
P-11 A rfd,ours [PRM-14 CAN-12] a waiting prompt withdrawn
P-12 A rfd,ours [PRM-14] a full line
P-13 A docs [PRM-16] a cancel
P-14 A peers,ours [PRM-17] a cancel of nothing
P-15 A peers,ours [PRM-19] a cancel at once
P-16 A docs [PRM-16] an abort in the library below
P-17 B docs [CAN-13] a cancel with a permission open
P-18 C docs,ours [CAN-13] a withdrawal of what was answered
P-19 A docs [PRM-16] a cancel twice
P-20 C docs,peers [PRM-10] a prompt right after a cancel
P-21 C docs [PRM-10] an idle before the prompt
P-22 C docs [PRM-8] an idle without a reason
P-23 C schema [PRM-9] a reason nobody knows
P-24 C docs [PRM-12] updates while idle
P-25 C schema [FWD-7] a state nobody knows
P-26 C docs [PRM-15] updates after a cancel
P-27 C docs [PRM-15] open tools after a cancel
P-28 C docs [MSG-2] messages and chunks in turn
P-29 C docs,schema [MSG-2 MSG-3] metadata alone
P-30 C docs [MSG-2] content cleared
P-31 C docs,ours [MSG-4] chunks of two messages
P-32 C schema [MSG-1] a chunk without its message
P-33 A docs [MSG-1] the ids of a reply
P-34 A docs [MSC-2] a command as a prompt
P-35 C schema,peers [MSC-4] usage of null
P-36 A schema [MSC-4] usage unknown to the agent
P-37 C schema [FWD-7] an update nobody knows, then others
P-38 C peers [ENV-18] a connection lost in the middle
T-01 C schema [TCL-1] an update with nothing but an id
T-02 C schema [TCL-3] a title set, left and cleared
T-03 C schema [TCL-4] content and chunks in turn
T-04 C schema [TCL-4] a chunk for an unknown call
T-05 C schema [TCL-3] content cleared
T-06 C schema [TCL-3] raw input cleared
T-07 C schema [TCL-3] locations replaced
T-08 C schema [TCL-5] a status nobody knows
T-09 C ours [TCL-5] an update after the end
T-10 A docs,ours [TCL-2 TCL-7] how every tool begins and ends
T-11 A docs,rfd [PRM-7 TCL-11] what comes before a permission
T-12 C docs [TRM-2] a reference before its terminal
T-13 C docs [TRM-5] chunks that split characters and sequences
T-14 C docs [TRM-5] chunks with padding each
T-15 C docs [TRM-4] a snapshot after chunks
T-16 C docs [TRM-5] a snapshot inside a character
T-17 C schema [TRM-7] an empty exit status
T-18 C schema [TRM-4] output cleared
T-19 C rfd [TRM-9] sequences that act
T-20 C ours [TRM-10] a gibibyte
T-21 C docs [TRM-2] one name for a call and a terminal
T-22 C ours [TRM-6] a bad chunk between good ones
T-23 A docs [TRM-2] terminal ids of an agent
T-24 C docs [DIF-1] a diff without a patch
T-25 C schema [DIF-2] a move
T-26 C schema [DIF-3] a patch of another format
T-27 A docs [DIF-3 DIF-5] an edit of an agent
T-28 C schema [DIF-4] a diff without changes beside other content
T-29 C docs [PLN-1] two plans
T-30 C docs [PLN-1] a plan that changes its kind
T-31 C ours [PLN-5] removing what is not there
T-32 C schema [] an entry with a bad status
R-01 C schema [PER-4] the second option
R-02 A schema,peers [PER-5] a reject
R-03 A schema [PER-5] an option nobody offered
R-04 A schema [PER-5] every other way to answer
R-05 C schema,ours [PER-2] no options
R-06 C schema [PER-3] a command without its directory
R-07 C schema [PER-3] a subject nobody knows
R-08 C docs [PER-7] an unknown kind first
R-09 C schema,docs [PER-4 PER-6] nothing to allow
R-10 C docs,peers [PER-9] three at once
R-11 C docs [PER-10] the user interface goes
R-12 C ours [PER-12] a command that hides itself
R-13 C docs [PER-8] a command allowed
R-14 D ours [PER-11] nobody there
R-15 A docs [PER-6] always, and again
R-16 B docs [ELI-1] elicitation {} and a form
R-17 A docs [ELI-12] a secret
R-18 B docs [ELI-9] an answer that does not fit
R-19 C schema,rfd [ELI-8] a pattern that explodes
R-20 C schema [ELI-5] a field nobody knows
R-21 A schema [ELI-10] an action nobody knows
R-22 A docs [ELI-10] decline with content
R-23 A docs [ELI-10] accept without content
R-24 C docs [ELI-15] an address
R-25 C ours [ELI-15] an address that is none of the web
R-26 C docs [ELI-14] completion of nothing
R-27 C docs,schema [ELI-2] a question for a request
R-28 C ours [ELI-17] a question of a cancelled session
R-29 A docs [ELI-4] an answer from elsewhere
O-01 A docs [CFG-1] setting an option
O-02 A ours [CFG-5] setting it wrong
O-03 A schema [CFG-5] setting it without a type
O-04 A docs [CFG-1] options that depend on others
O-05 A docs [CFG-8] the agent changes one
O-06 C docs [CFG-1] an option that is gone
O-07 C schema [CFG-4] an option of an unknown kind
O-08 C schema [CFG-6] an answer without the list
O-09 A rfd,ours [CFG-9] setting while running
O-10 A schema,rfd [PRV-1 PRV-2] a provider set and listed
O-11 A schema,rfd [PRV-2] headers dropped
O-12 A rfd [PRV-3] disabling a required one
O-13 A rfd [PRV-3] disabling an unknown one
O-14 A rfd [PRV-4] a disabled one is not called
O-15 B ours [PRV-5] headers in the log
O-16 A ours [ERR-4] suggestions that were not advertised
O-17 A schema,rfd [NES-3] two edits in one change
O-18 B schema,rfd [NES-4] three encodings
O-19 C schema [NES-4] an encoding nobody offered
O-20 A schema [NES-5] a kind nobody wants
O-21 C schema [NES-5] an edit without edits
O-22 C rfd,ours [NES-6] a suggestion overtaken
O-23 A schema,ours [NES-10] a bad change
O-24 C schema,rfd [MCP-2] two connections to one server
O-25 C schema [MCP-3] a request through
O-26 C schema [MCP-3] an error through
O-27 C rfd,peers [MCP-6] an unknown connection
O-28 C schema [MCP-7] after the disconnect
O-29 A schema [MCP-4] a request of the server
O-30 C ours [MCP-7] after the session
B-01 G ours [BR-1] @bridge a whole turn of a v1 agent
B-02 G ours [] @bridge resume by load, its replay swallowed
B-03 G ours [] @bridge a replay with stable ids
B-04 G ours [BR-2] @bridge list and close emulated
B-05 G ours [] @bridge a prompt that fails
B-06 G ours [] @bridge a cancel nobody answers
B-07 G ours [] @bridge end_turn after a cancel
B-08 G ours [] @bridge chunks after the response
B-09 G ours [] @bridge modes as an option
B-10 G ours [] @bridge modes and an option
B-11 G ours [] @bridge a mode that changes
B-12 G ours [] @bridge a mode that is set
B-13 G ours [] @bridge tool calls
B-14 G ours [] @bridge diffs
B-15 G ours [] @bridge terminals
B-16 G ours [] @bridge output cut at a character
B-17 G ours [] @bridge files outside
B-18 G ours [] @bridge a permission without a title
B-19 G ours [] @bridge a cancel with a permission open
B-20 G ours [BR-6] @bridge an extension
B-21 G ours [] @bridge a whole turn of a v1 client
B-22 G ours [PRM-10] @bridge an idle at first
B-23 G ours [] @bridge a message rewritten
B-24 G ours [] @bridge content chunks
B-25 G ours [] @bridge a call without a title
B-26 G ours [] @bridge cancelled statuses
B-27 G ours [BR-5] @bridge updates v1 has not
B-28 G ours [] @bridge a command's permission
B-29 G ours [] @bridge an option of an unknown kind
B-30 G ours [] @bridge a server over SSE
B-31 G ours [] @bridge an untyped option
B-32 G ours [BR-3] @bridge a withdrawal
B-33 G ours [] @bridge the scope of a question
B-34 G ours [] @bridge login methods
B-35 G ours [] @bridge a logout nobody marked
B-36 G ours [] @bridge an agent that says little
B-37 G ours [PRM-11] @bridge an agent that dies
B-38 G ours [] @bridge two prompts
B-39 G ours [] @bridge there and back
H-01 A docs [STD-1] a newline in a text
H-02 C ours [STD-4] a banner on stdout
H-03 C ours [STD-4] JSON on stdout that is no message
H-04 A docs,peers [STD-5] the end of stdin
H-05 C docs,peers [STD-5] an agent that will not go
H-06 C docs [STD-2] a flood on stderr
H-07 B ours [STD-6] a long line in small pieces
H-08 B ours [STD-6] writers at once
H-09 A ours [STD-7] a print in a library
H-10 B docs,ours [STD-1] CRLF and blank lines
H-11 D rfd [HTTP-3] @http POST initialize
H-12 D peers [HTTP-11] @http a failing one
H-13 D rfd [HTTP-9] @http a connection missing or unknown
H-14 D rfd [HTTP-9] @http the wrong types of content
H-15 D rfd [HTTP-9] @http a charset
H-16 D rfd [HTTP-12] @http a session missing
H-17 D peers [HTTP-9] @http two sessions in one request
H-18 D rfd [HTTP-6] @http where a new session is answered
H-19 D rfd [HTTP-6] @http where a prompt is answered
H-20 D peers [HTTP-16] @http events before the stream
H-21 D peers [HTTP-9] @http the same stream twice
H-22 D rfd,peers [HTTP-16] @http a stream dropped and opened again
H-23 D rfd,ours [HTTP-18] @http the stream before the resume
H-24 D rfd [HTTP-9] @http a stream of an unknown session
H-25 D rfd [HTTP-8] @http DELETE and after
H-26 D rfd,peers [HTTP-20] @http a batch
H-27 D peers [HTTP-9] @http a body too large
H-28 C peers [HTTP-21] @http an answer while a post is stuck
H-29 D peers [HTTP-22] @http a minute of nothing
H-30 D ours [HTTP-24] @http a slow reader
H-31 D ours [HTTP-25] @http a permission and no stream
H-32 D rfd [HTTP-26 HTTP-27] @http WebSocket
H-33 D rfd [HTTP-26] @http a binary frame
H-34 D ours [HTTP-28] @http a large frame
H-35 D rfd [HTTP-17] @http the socket drops
H-36 D peers,rfd [HTTP-29] @http a foreign origin
H-37 D ours [HTTP-30] @http a foreign connection id
H-38 D rfd [HTTP-6] @http an error of the connection
H-39 D ours [PRM-11] an agent crashes
H-40 D ours [SEC-6] a hundred sessions
H-41 C rfd [HTTP-14] @http cookies
H-42 D docs [STD-5] SIGTERM
"""
