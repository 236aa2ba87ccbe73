"""Writes golden/: what TestGolden must produce. Shares no code with the package."""
import hashlib, json, os

T = "2026-07-28T12:00:00.000000Z"
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
os.makedirs(here, exist_ok=True)
heads = {}


def line(session, type, data):
    seq, prev = heads.get(session, (0, None))
    body = f'{{"seq":{seq + 1},"session":"{session}","time":"{T}","type":"{type}","data":{data}'
    if prev:
        body += f',"prev":"{prev}"'
    digest = hashlib.sha256(body.encode()).hexdigest()
    heads[session] = (seq + 1, digest)
    return f'{body},"hash":"{digest}"}}\n'


def call(session):
    tool = '"tool":"mcp.fs.write_file"'
    return "".join(line(session, *e) for e in [
        ("session.started", '{"kind":"agent"}'),
        ("model.tool_call_requested", '{"toolCallId":"c1",' + tool + ',"args":{"path":"a<b>","n":1.0}}'),
        ("permission.requested", '{"toolCallId":"c1",' + tool + ',"riskAtDecision":"write","sourcedFrom":"default"}'),
        ("permission.resolved", '{"toolCallId":"c1","decision":"allow","actor":"rule","sourcedFrom":"rule:user"}'),
        ("mcp.call.started", '{"server":"fs","toolCallId":"c1","method":"tools/call"}'),
        ("tool.started", '{' + tool + ',"toolCallId":"c1"}'),
        ("mcp.call.completed", '{"server":"fs","toolCallId":"c1","durationMs":12}'),
        ("tool.completed", '{' + tool + ',"toolCallId":"c1","resultPreview":"wrote 3 bytes \ufffd","resultSize":3}'),
    ])


def name(micros, id):
    return f"20260728T1200000000{micros:02}Z-{hashlib.sha256(id.encode()).hexdigest()[:8]}-0000.jsonl"


def head(session):
    return json.dumps({"session": session, "seq": heads[session][0], "hash": heads[session][1], "ended": True}, separators=(",", ":"))


first = line("s_2", "session.started", '{"kind":"host"}') + call("s_a") + line("s_2", "session.ended", '{"reason":"orderly"}')
one = name(0, "f_1")
second = line("s_4", "session.started", '{"kind":"host"}')
second += line("s_a", "session.ended", '{"reason":"usher_restarted"}')
second += line("s_4", "log.checkpoint", '{"files":[{"name":"%s","size":%d}],"heads":[%s,%s]}' % (one, len(first.encode()), head("s_2"), head("s_a")))
second += call("s_b") + line("s_b", "session.ended", '{"reason":"done"}') + line("s_4", "session.ended", '{"reason":"orderly"}')
for n, text in [(one, first), (name(1, "f_3"), second)]:
    with open(os.path.join(here, n), "w", encoding="utf-8") as f:
        f.write(text)
