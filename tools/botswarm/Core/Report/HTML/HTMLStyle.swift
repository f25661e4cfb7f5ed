/// The look of the report: follows the reader's choice of light or dark, and prints.
enum HTMLStyle {
    static let css = """
        :root{color-scheme:light dark;--page:#fcfcfb;--card:#fff;--ink:#0b0b0b;--soft:#52514e;--faint:#8a8984;\
        --line:#e4e3df;--band:#f4f3f0;--good:#0a7f3f;--bad:#c22f2b;--goodbg:#e3f4ea;--badbg:#fbe6e5;\
        --c0:#2a78d6;--c1:#eb6834;--c2:#1a9c6e;--c3:#8a4fd0}
        @media(prefers-color-scheme:dark){:root{--page:#161615;--card:#1e1e1d;--ink:#f4f3ef;--soft:#c3c2b7;\
        --faint:#8f8e86;--line:#343431;--band:#252523;--good:#5fd394;--bad:#ff8d86;--goodbg:#17321f;--badbg:#3d1b1a;\
        --c0:#4f98ee;--c1:#f08a5c;--c2:#35bd8b;--c3:#ad84ee}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--page);color:var(--ink);font:15px/1.45 system-ui,-apple-system,"Segoe UI",\
        Roboto,sans-serif}
        main{max-width:1040px;margin:0 auto;padding:28px 20px 60px}
        h1{font-size:24px;margin:0 12px 0 0;letter-spacing:-.01em}h2{font-size:16px;margin:34px 0 10px}
        header{display:flex;flex-wrap:wrap;align-items:center;gap:6px}
        .sub{color:var(--soft);margin:6px 0 18px}
        .badge{border-radius:99px;padding:3px 12px;font-weight:600;font-size:13px}
        .good{color:var(--good);background:var(--goodbg)}.bad{color:var(--bad);background:var(--badbg)}
        .tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:10px}
        .tile,figure,.card{background:var(--card);border:1px solid var(--line);border-radius:10px}
        .tile{padding:11px 14px}.tile b{display:block;font-size:21px;font-weight:600;font-variant-numeric:tabular-nums}
        .tile span{color:var(--soft);font-size:12.5px}
        figure{margin:0 0 12px;padding:12px 14px 6px}figcaption{font-size:13.5px;margin-bottom:4px}
        .unit,.key{color:var(--soft);font-weight:400}.key{margin-left:14px;white-space:nowrap}
        .key i{display:inline-block;width:14px;height:3px;border-radius:2px;vertical-align:middle;margin-right:6px}
        i.c0{background:var(--c0)}i.c1{background:var(--c1)}i.c2{background:var(--c2)}i.c3{background:var(--c3)}
        svg{display:block;width:100%;height:auto}
        path{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
        path.c0{stroke:var(--c0)}path.c1{stroke:var(--c1)}path.c2{stroke:var(--c2)}path.c3{stroke:var(--c3)}
        circle.c0,.bar.c0{fill:var(--c0)}circle.c1,.bar.c1{fill:var(--c1)}circle.c2,.bar.c2{fill:var(--c2)}\
        circle.c3,.bar.c3{fill:var(--c3)}
        .grid{stroke:var(--line);stroke-width:1}.axis{stroke:var(--faint);stroke-width:1}
        .mark{stroke:var(--soft);stroke-width:1;stroke-dasharray:3 3}.band{fill:var(--band)}
        .tick{fill:var(--faint);font-size:11px;font-variant-numeric:tabular-nums}.stage{fill:var(--soft);font-size:11px}
        .hint{fill:transparent}.hint:hover{fill:var(--ink);fill-opacity:.06}
        .halves{margin-top:12px;display:grid;grid-template-columns:repeat(auto-fit,minmax(320px,1fr));gap:12px}.halves figure{margin:0}
        .scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}
        th,td{text-align:left;padding:6px 12px;border-bottom:1px solid var(--line);vertical-align:top}
        tr:last-child td{border-bottom:0}th{color:var(--soft);font-weight:500;font-size:12.5px}
        td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
        code,pre{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace}pre{margin:0;padding:12px 14px;\
        white-space:pre-wrap;overflow-wrap:anywhere}ol{margin:8px 0;padding-left:30px}li{margin:3px 0}
        footer{color:var(--faint);font-size:12.5px;margin-top:28px}
        """
}
