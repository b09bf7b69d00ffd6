"""The phrases by which a sentence says that a mention is absent, possible, past, conditional, or another person's.

They follow what is published of NegEx (Chapman et al. 2001) and ConText (Harkema et al. 2009; Chapman et al. 2011), with
additions for abstracts of articles: `no difference` negates nothing, and `prior to` tells no history.

Phrases are separated by semicolons, their words are in lower case. Whatever a text has between two words counts as a space:
`r o` is `R/O`, and `didn t` is `didn't`. `#` is any number. Words in brackets are alternatives: `no (sign signs) of` is two
phrases. A phrase in several lists does all that they say. Where phrases overlap, the first one counts, or else the longer one.
"""

from __future__ import annotations

from onym.types import AssertionMark

# The relatives, whose conditions are not the patient's.
_RELATIVES = (
    "mother father parents brother brothers sister sisters sibling siblings son daughter aunt aunts uncle uncles cousin "
    "cousins nephew niece grandmother grandfather grandparent grandparents relatives"
)
_FOUND = "seen present identified found noted detected appreciated visualized visualised observed evident demonstrated"
_SAYS = "reports reported states stated says said notes noted noticed brought called thinks feels felt describes described"

FORWARD: dict[AssertionMark, str] = {
    "negated": """
        no; not; none; never; nor; neither; without; w o; cannot; can not; with no; no longer; rather than;
        (isn wasn aren weren doesn didn don hasn haven hadn couldn can won wouldn) t; deny; denies; denied; denying;
        mother denies; father denies; family denies; parents deny; declines; declined; negative for; negative of; neg for;
        free of; absence of; absent; lack of; lacks; lacked; lacking; unremarkable for; excludes; excluded;
        (has have he she we) ruled out; rules out; ruled out for; rules out for; ruled (him her them) out;
        rules (him her them) out;
        ruled (him her them) out for; rules (him her them) out for; ruled the patient out for; rules the patient out for;
        (fails failed failure) to (reveal show demonstrate identify); never (had developed); not have; not associated with;
        no (evidence sign signs suggestion indication findings finding) (of to for that); no history of; no h o; no hx of;
        no further (sign signs symptoms episode episodes evidence complaints bouts); no (patient patients) with
    """,
    "possible": """
        possible; possibly; possibility of; probable; probably; likely; perhaps; presumed; presumably; presumptive; suspect;
        suspects; suspected; suspicious for; suspicion of; suspicion for; questionable; question of; worrisome for;
        concern for; concern of; concerning for; concerned about; may; might; could be; could represent; may represent;
        appears to be; suggests; suggesting; suggestive of; indicative of; differential diagnosis; low probability of;
        rule out; r o; to rule out; rule out for; rule (him her them) out for; rule the patient out for; exclude; to exclude;
        (be being) ruled out for; (should must can could may) be ruled out for; not rule out; not ruled out; not exclude;
        not excluded; cannot rule out; can not rule out; cannot exclude; can not exclude; evaluate for; evaluated for;
        evaluation for; (unclear uncertain unsure) (if whether); not (certain sure) (if whether)
    """,
    "historical": """
        history; history of; hx; hx of; h o; no history of; no h o; no hx of; past history; past medical history;
        past surgical history; pmh; pmhx; psh; social history; family history; family hx; previous; previously; prior; former;
        formerly; remote history of; status post; s p; in the past; last time; the last time
    """,
    "hypothetical": """
        if; unless; should (he she they you there the); in case; in case of; in the event of; as needed for; p r n for;
        prn for; return (for if with to); come back (for if with to); call (for if with); call also (for if); call for any;
        watch for; watch out for; monitor for; monitored for; precautions; to prevent; prevention of;
        prophylaxis (for against of); risk of; risks of; risk for; at risk for; at risk of
    """,
    "other-experiencer": f"""
        family history; family hx; fam hx; fh; fhx; ({_RELATIVES}); (wife husband partner spouse family) s; ({_RELATIVES}) s;
        (his her) family; runs in the family
    """,
}

BACKWARD: dict[AssertionMark, str] = {
    "negated": f"""
        (is was are were be been) ruled out; (has have) been ruled out; ruled out;
        (is was are were) (negative absent excluded denied); (tested tests) negative; (has have) resolved; resolved; absent;
        none; denied; unlikely; (is was are were) not ({_FOUND}); not ({_FOUND}); (isn wasn aren weren) t ({_FOUND});
        (has have) not been ({_FOUND})
    """,
    "possible": """
        (can must should could may) be ruled out; being ruled out; to be ruled out; not ruled out; not been ruled out;
        not excluded; did not rule out; (cannot could) be excluded; can not be excluded; could not be excluded;
        cannot be ruled out; can not be ruled out; (is was are were) (possible suspected likely questionable probable);
        less likely; in question
    """,
    "historical": """
        (week weeks month months year years) ago; # (week weeks month months year years) ago; in the past; in childhood;
        as a child; by history
    """,
    "hypothetical": "",
    "other-experiencer": f"in (his her the patient) ({_RELATIVES} family)",
}

STOP: dict[AssertionMark, str] = {
    "negated": """
        but; however; nevertheless; yet; though; although; still; except; except for; aside from; apart from; other than;
        which; who; whereas; secondary to; due to; because; because of; since; positive for;
        (cause causes source etiology origin reason) (of for); as a (cause reason etiology) (of for); trigger event for;
        other possibilities of; as (he she it they); and (he she it they i there is was are were has had);
        patient (is was has had remained remains); (patients subjects women men children adults individuals) with;
        (patients subjects women men children adults individuals) with and without
    """,
    "possible": """
        but; however; nevertheless; yet; though; although; still; except; aside from; apart from; which; who; whereas;
        secondary to; due to; because; because of; since; and (he she it they i there is was are were has had)
    """,
    "historical": """
        presents; presented; presenting; complains; complained; complaining; currently; today; now; states; reports; reported;
        noted; was found; recent; new; here; developed; admitted; came in; emergency department; ed; but; however; who; which;
        because; since
    """,
    "hypothetical": "but; however; although; which; because; because of; since; secondary to; due to",
    "other-experiencer": """
        patient; patient s; he; she; his; her; i; but; however; physical exam; social history; allergies
    """,
}

# They look like a phrase above, or hold one, and say nothing of the mentions around them.
NOTHING = f"""
    no (increase increased decrease change difference differences effect effects); no significant (increase decrease change);
    no (association correlation relationship improvement); no significant (association correlation improvement);
    no significant (changes difference differences effect effects);
    no (interval suspicious definite) change; no significant interval change; no statistically significant; no doubt;
    no further; no (synthase donor donors); not only; not necessarily; not cause; not drain; not extend; not change;
    not to mention; not (differ significantly statistically); not (affect alter influence); if not; without further;
    without any further; without difficulty; without contrast; with and without; gram negative; gram negatives;
    negative pressure; negative feedback; may #; (in of since during) may;
    history and (physical exam examination); history physical; history taking;
    history of present illness; history present illness; hpi; poor history; clinical history; patient history;
    natural history; life history; case history; # (hour hours day days week) history;
    # (hour hours day days week) history of; prior to; previous (study studies work report reports research);
    previously (reported described shown); determine if; determined if; to see if;
    (mother father family parents wife husband son daughter) ({_SAYS})
"""
