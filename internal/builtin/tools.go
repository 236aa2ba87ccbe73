package builtin

// tools is the list of definitions as tools/list sends it.
const tools = `[` + readTool + `,` + listTool + `,` + searchTool + `]`

const readTool = `{"name":"read_file","title":"Read file",
"description":"Read a text file of the working folder. Shows at most 1 MiB of whole lines and says how to read on.",
"inputSchema":{"type":"object","properties":{
"path":{"type":"string","minLength":1,"description":"File, relative to the working folder"},
"offset":{"type":"integer","minimum":1,"default":1,"description":"First line to show, counted from 1"},
"limit":{"type":"integer","minimum":1,"description":"Most lines to show"}},
"required":["path"],"additionalProperties":false},
"outputSchema":{"type":"object","properties":{
"path":{"type":"string"},
"text":{"type":"string"},
"startLine":{"type":"integer"},
"endLine":{"type":"integer","description":"startLine-1 if no line is shown"},
"nextOffset":{"type":"integer","description":"offset to read on with; absent at the end of the file"}},
"required":["path","text","startLine","endLine"],"additionalProperties":false},
"annotations":{"title":"Read file","readOnlyHint":true,"openWorldHint":false}}`

const listTool = `{"name":"list_files","title":"List files",
"description":"List a folder of the working folder, sorted. Folders end with /. Symbolic links are listed, not followed.",
"inputSchema":{"type":"object","properties":{
"path":{"type":"string","default":".","description":"Folder, relative to the working folder"},
"pattern":{"type":"string","maxLength":500,"description":"Glob on the name, as *.go or *.{ts,tsx}; with / or ** on the path below the folder, as src/**/*.go, which implies recursive"},
"recursive":{"type":"boolean","default":false,"description":"List all below, without .git"},
"limit":{"type":"integer","minimum":1,"maximum":10000,"default":1000,"description":"Most entries to list"}},
"additionalProperties":false},
"outputSchema":{"type":"object","properties":{
"files":{"type":"array","items":{"type":"string"},"description":"Paths relative to the working folder"},
"truncated":{"type":"boolean"}},
"required":["files","truncated"],"additionalProperties":false},
"annotations":{"title":"List files","readOnlyHint":true,"openWorldHint":false}}`

const searchTool = `{"name":"search_text","title":"Search text",
"description":"Find lines that contain a text or match a regular expression, in a file or in all files below a folder. Skips .git, binary files, symbolic links and files above 10 MiB.",
"inputSchema":{"type":"object","properties":{
"query":{"type":"string","minLength":1,"maxLength":1000,"description":"Text to find, or an RE2 regular expression with regex"},
"path":{"type":"string","default":".","description":"File or folder, relative to the working folder"},
"regex":{"type":"boolean","default":false,"description":"Take query as an RE2 regular expression (no lookaround, no backreferences)"},
"case_sensitive":{"type":"boolean","default":true},
"pattern":{"type":"string","maxLength":500,"description":"Only files that match this glob, as *.go or src/**/*.ts"},
"limit":{"type":"integer","minimum":1,"maximum":2000,"default":200,"description":"Most lines to show"}},
"required":["query"],"additionalProperties":false},
"outputSchema":{"type":"object","properties":{
"matches":{"type":"array","items":{"type":"object","properties":{
"path":{"type":"string"},"line":{"type":"integer"},"text":{"type":"string"}},
"required":["path","line","text"],"additionalProperties":false}},
"truncated":{"type":"boolean"}},
"required":["matches","truncated"],"additionalProperties":false},
"annotations":{"title":"Search text","readOnlyHint":true,"openWorldHint":false}}`
