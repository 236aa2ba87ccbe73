package index

var (
	SameTool = sameTool
	Sane     = sane
)
